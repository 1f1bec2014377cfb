/**
 * Whether a statement has rows as its result, told by its text: node:sqlite says so (`columns()`) from Node 22.16 only.
 * All text of callers is in parameters, so that what stands here is ours, Kysely's and better-auth's.
 */
export function givesRows(sql: string): boolean {
  return /^\s*(?:select|with|values|pragma|explain)\b|\breturning\b/i.test(sql);
}
