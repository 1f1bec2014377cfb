/**
 * Writes to a stream such as `process.stdout`, and resolves when the system has taken the text.
 * @throws the stream's error, whether the runtime throws it or emits an event
 */
export function writeText(stream: NodeJS.WritableStream, text: string | Uint8Array): Promise<void> {
  listenForErrors(stream);
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => error ? reject(error) : resolve());
  });
}

const known = new WeakSet<NodeJS.WritableStream>();

/** An unhandled error event would end the program. The write's callback reports the error. */
function listenForErrors(stream: NodeJS.WritableStream): void {
  if (known.has(stream)) return;
  known.add(stream);
  stream.on("error", () => {});
}
