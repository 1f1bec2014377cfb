/**
 * An email address in lower case, or null for what is none. Of what RFC 5321 allows: what mail servers take, and what
 * cannot break the head of a mail. Whether it is somebody's, only a mail to it tells.
 */
export function parseEmail(text: string): string | null {
  const email = text.trim().toLowerCase();
  const isEmail = email.length <= 254 && /^[^\s@"(),:;<>[\]\\]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(email);
  return isEmail ? email : null;
}
