import { parseEmail } from "../../common/email.ts";
import { HttpError } from "../../common/http_error.ts";
import { MAX_PASSWORD, MIN_PASSWORD } from "./auth_options.ts";

/** A field of a form, or of a body in JSON, that cannot be used. */
export const badField = (field: string, message: string): HttpError =>
  new HttpError(400, "bad_request", message, { body: { error: { code: "bad_request", message, field } } });

/** An email address in lower case. @throws HttpError 400 */
export function readEmail(text: string): string {
  const email = parseEmail(text);
  if (email === null) throw badField("email", "This is no email address.");
  return email;
}

/** A name of a person, an account or a token: 1 to 100 characters that can be seen. @throws HttpError 400 */
export function readName(text: string, field = "name"): string {
  const name = text.trim().replace(/\s+/g, " ");
  if (name === "") throw badField(field, "A name is wanted.");
  if (name.length > 100 || /\p{Cc}/u.test(name)) throw badField(field, "A name has at most 100 characters.");
  return name;
}

/** A password that somebody chooses. @throws HttpError 400 */
export function readNewPassword(password: string): string {
  if (password.length >= MIN_PASSWORD && password.length <= MAX_PASSWORD) return password;
  throw badField("password", `A password has ${MIN_PASSWORD} to ${MAX_PASSWORD} characters.`);
}
