/**
 * Returns an email address in lower case, or null for an invalid one. Accepts the part of RFC 5321 that mail servers
 * accept and that is safe in a mail's head. Does not check that the mailbox exists.
 */
export function parseEmail(text: string): string | null {
  const email = text.trim().toLowerCase();
  const isEmail = email.length <= 254 && /^[^\s@"(),:;<>[\]\\]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(email);
  return isEmail ? email : null;
}
