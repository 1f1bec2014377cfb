/** A stream of what a generator makes, each piece made when it is asked for. The generator is ended on cancel. */
export function streamPieces<Memory extends ArrayBufferLike>(
  pieces: AsyncGenerator<Uint8Array<Memory>, void>,
): ReadableStream<Uint8Array<Memory>> {
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
