/** A stream of what a generator makes, each piece made when it is asked for. The generator is ended on cancel. */
export function streamPieces(
  pieces: AsyncGenerator<Uint8Array<ArrayBuffer>, void>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await pieces.return();
    },
  }, { highWaterMark: 0 });
}
