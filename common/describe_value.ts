/** Returns a short text for a value of any type: `undefined`, `3`, `"text"`, `a string`, `an object`. */
export function describeValue(value: unknown): string {
  if (value === undefined || value === null || typeof value === "number" || typeof value === "boolean") {
    return String(value);
  }
  const type = typeof value;
  return `${/^[aeiou]/.test(type) ? "an" : "a"} ${type}`;
}
