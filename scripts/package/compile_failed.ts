/** An executable cannot be built; the message is one line. */
export class CompileFailed extends Error {
  override readonly name: string = "CompileFailed";
}
