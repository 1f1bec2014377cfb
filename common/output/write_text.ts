/**
 * Writes to a stream such as `process.stdout`, and resolves when the system has taken it.
 * @throws what the stream fails with, however its runtime says so: some throw, some tell by an event
 */
export function writeText(stream: NodeJS.WritableStream, text: string | Uint8Array): Promise<void> {
  listenForErrors(stream);
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => error ? reject(error) : resolve());
  });
}

const known = new WeakSet<NodeJS.WritableStream>();

/** An error that nobody listens for would end the program. The callback of the write tells of it too. */
function listenForErrors(stream: NodeJS.WritableStream): void {
  if (known.has(stream)) return;
  known.add(stream);
  stream.on("error", () => {});
}
