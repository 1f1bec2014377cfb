import { fieldRefused } from "../../http/mod.ts";
import { parseEmail } from "../../../common/email.ts";
import { MAX_PASSWORD, MIN_PASSWORD } from "../better_auth/auth_options.ts";

/** Returns an email address in lower case. @throws HttpError 400 */
export function readEmail(text: string): string {
  const email = parseEmail(text);
  if (email === null) throw fieldRefused("email", "Enter a valid email address.");
  return email;
}

/** Returns the name of a person, account or token: 1 to 100 visible characters. @throws HttpError 400 */
export function readName(text: string, field = "name"): string {
  const name = text.trim().replace(/\s+/g, " ");
  if (name === "") throw fieldRefused(field, "Enter a name.");
  if (name.length > 100 || /\p{Cc}/u.test(name)) throw fieldRefused(field, "A name has at most 100 characters.");
  return name;
}

/** Returns a new password. @throws HttpError 400 */
export function readNewPassword(password: string): string {
  if (password.length >= MIN_PASSWORD && password.length <= MAX_PASSWORD) return password;
  throw fieldRefused("password", `A password has ${MIN_PASSWORD} to ${MAX_PASSWORD} characters.`);
}
