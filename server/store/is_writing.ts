/** Whether a statement is one that keeps something: inside a transaction its end is. */
export function isWriting(sql: string): boolean {
  return /^(insert|update|delete|commit)\b/i.test(sql);
}
