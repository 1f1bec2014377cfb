/**
 * A stream of what a generator makes, each piece made when it is asked for. The generator is ended on cancel.
 * @param first what comes before: a piece that was asked for already
 */
export function streamPieces<Memory extends ArrayBufferLike>(
  pieces: AsyncGenerator<Uint8Array<Memory>, void>,
  first?: Uint8Array<Memory>,
): ReadableStream<Uint8Array<Memory>> {
  return new ReadableStream({
    start(controller) {
      if (first !== undefined && first.length > 0) controller.enqueue(first);
    },
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
