/** There is no login at its end: it was denied, given up or came too late. The message is a line for the user. */
export class LoginFailed extends Error {
  override name = "LoginFailed";
}
