/**
 * Whether a statement stores data by itself. Inside a transaction only the commit does, so a caller with an open
 * transaction checks for that.
 */
export function isWriting(sql: string): boolean {
  return /^(insert|update|delete|commit)\b/i.test(sql);
}

/**
 * Whether a statement returns rows, judged by its text: node:sqlite reports it (`columns()`) only since Node 22.16. The
 * text comes from this program, Kysely and better-auth, because callers' values are always parameters.
 */
export function givesRows(sql: string): boolean {
  return /^\s*(?:select|with|values|pragma|explain)\b|\breturning\b/i.test(sql);
}
