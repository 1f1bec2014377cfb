/** The login was denied, cancelled or timed out. The message is one line for the user. */
export class LoginFailed extends Error {
  override name = "LoginFailed";
}
