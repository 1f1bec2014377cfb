// @ts-check
// Numbers, dates and names for people.

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/**
 * Formats bytes with a decimal unit.
 * @param {number} bytes
 */
export function formatSize(bytes) {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

const sameYear = new Intl.DateTimeFormat(undefined, {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});
const otherYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });

/**
 * Formats a date briefly: with the time in this year, with the year otherwise.
 * @param {number} milliseconds
 */
export function formatDate(milliseconds) {
  const date = new Date(milliseconds);
  return (date.getFullYear() === new Date().getFullYear() ? sameYear : otherYear).format(date);
}

/**
 * Formats a date with weekday and seconds.
 * @param {number} milliseconds
 */
export function formatFullDate(milliseconds) {
  return full.format(new Date(milliseconds));
}

/**
 * Formats a time span, e.g. "2 min 5 s".
 * @param {number} seconds
 */
export function formatSpan(seconds) {
  if (!Number.isFinite(seconds)) return "";
  const whole = Math.max(1, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/**
 * Formats a count with its noun: "1 item", "3 items".
 * @param {number} count
 * @param {string} one
 * @param {string} many
 */
export function formatCount(count, one, many = `${one}s`) {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}

/**
 * Replaces characters in a name that break the line or change the writing direction.
 * @param {string} name
 */
export function formatName(name) {
  return name.replace(/[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, "\ufffd");
}

/**
 * Formats names for a sentence, at most three: "“a”, “b” and 3 more".
 * @param {readonly string[]} names
 */
export function formatNames(names) {
  const shown = names.slice(0, 3).map((name) => `“${formatName(name)}”`);
  const rest = names.length - shown.length;
  return shown.join(", ") + (rest > 0 ? ` and ${rest.toLocaleString()} more` : "");
}

/** A long name's last characters, which stay visible when space is short. */
const TAIL = 10;

/**
 * Splits a name into a start that can be cut and an end that stays visible, such as "final).pdf" in
 * "yearly report (final).pdf". A short name's end is "".
 * @param {string} name after {@link formatName}
 * @returns {[string, string]}
 */
export function splitName(name) {
  const letters = [...name];
  return letters.length <= 2 * TAIL ? [name, ""] : [letters.slice(0, -TAIL).join(""), letters.slice(-TAIL).join("")];
}

/**
 * Returns the next name with a number: "photo.jpg" becomes "photo (2).jpg", and that "photo (3).jpg".
 * @param {string} name
 */
export function nextName(name) {
  const [, base = name, count = "1", ending = ""] = /^(.+?)(?: \((\d+)\))?(\.[^.]*)?$/s.exec(name) ?? [];
  return `${base} (${Number(count) + 1})${ending}`;
}
