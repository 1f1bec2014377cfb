// @ts-check
// Numbers, dates and names as people read them.

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/**
 * Bytes with a unit, powers of 1000.
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
 * A date as short as it can be.
 * @param {number} milliseconds
 */
export function formatDate(milliseconds) {
  const date = new Date(milliseconds);
  return (date.getFullYear() === new Date().getFullYear() ? sameYear : otherYear).format(date);
}

/**
 * A date with all there is.
 * @param {number} milliseconds
 */
export function formatFullDate(milliseconds) {
  return full.format(new Date(milliseconds));
}

/**
 * A time span, e.g. "2 min 5 s".
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
 * "1 item", "3 items".
 * @param {number} count
 * @param {string} one
 * @param {string} many
 */
export function formatCount(count, one, many = `${one}s`) {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}

/**
 * A name as it can be shown: on one line, and with nothing in it that turns the direction of writing.
 * @param {string} name
 */
export function formatName(name) {
  return name.replace(/[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, "\ufffd");
}

/**
 * Names in a sentence, of many the first few: "“a”, “b” and 3 more".
 * @param {readonly string[]} names
 */
export function formatNames(names) {
  const shown = names.slice(0, 3).map((name) => `“${formatName(name)}”`);
  const rest = names.length - shown.length;
  return shown.join(", ") + (rest > 0 ? ` and ${rest.toLocaleString()} more` : "");
}

/** Characters at the end of a long name that stay when there is no room for all of it. */
const TAIL = 10;

/**
 * A name as a beginning that may be cut and an end that stays: of "report of the year (final).pdf" one wants to see
 * "final).pdf". Short names are all beginning.
 * @param {string} name as it is shown
 * @returns {[string, string]}
 */
export function splitName(name) {
  const letters = [...name];
  return letters.length <= 2 * TAIL ? [name, ""] : [letters.slice(0, -TAIL).join(""), letters.slice(-TAIL).join("")];
}

/**
 * "photo.jpg" becomes "photo (2).jpg", and that "photo (3).jpg".
 * @param {string} name
 */
export function nextName(name) {
  const [, base = name, count = "1", ending = ""] = /^(.+?)(?: \((\d+)\))?(\.[^.]*)?$/s.exec(name) ?? [];
  return `${base} (${Number(count) + 1})${ending}`;
}
