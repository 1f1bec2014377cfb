/** An upgrade ended without a new program; the message is one line. */
export class UpgradeFailed extends Error {
  override readonly name = "UpgradeFailed";
}
