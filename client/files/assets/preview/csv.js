// @ts-check
// Tables as text: RFC 4180, with the separators that programs use in its place.

const SEPARATORS = [",", ";", "\t", "|"];
/** Characters that are looked at to find the separator. */
const SAMPLE = 4000;

/**
 * The rows of a table. A quoted cell may hold separators, line breaks and, twice, quotes.
 * @param {string} text
 * @param {{ maxRows: number }} limits
 */
export function parseTable(text, { maxRows }) {
  const separator = findSeparator(text);
  /** @type {string[][]} */
  const rows = [];
  /** @type {string[]} */
  let row = [];
  let at = text.startsWith("\ufeff") ? 1 : 0;
  while (at < text.length && rows.length < maxRows) {
    const [cell, end] = text[at] === '"' ? readQuoted(text, at + 1, separator) : readPlain(text, at, separator);
    row.push(cell);
    const next = text[end];
    at = end + 1;
    if (next === separator) {
      // A separator at the very end has an empty cell behind it.
      if (at >= text.length) row.push("");
      continue;
    }
    if (next === "\r" && text[at] === "\n") at++;
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
  }
  if (row.length > 0 && rows.length < maxRows) rows.push(row);
  return rows;
}

/**
 * The separator that the first lines have most of, outside quotes.
 * @param {string} text
 */
export function findSeparator(text) {
  const sample = text.slice(0, SAMPLE).replace(/"(?:[^"]|"")*(?:"|$)/g, "");
  const counts = SEPARATORS.map((separator) => sample.split(separator).length);
  return SEPARATORS[counts.indexOf(Math.max(...counts))];
}

/**
 * @param {string} text
 * @param {number} start
 * @param {string} separator
 * @returns {[string, number]}
 */
function readPlain(text, start, separator) {
  let end = start;
  while (end < text.length && text[end] !== separator && text[end] !== "\n" && text[end] !== "\r") end++;
  return [text.slice(start, end), end];
}

/**
 * @param {string} text
 * @param {number} start
 * @param {string} separator
 * @returns {[string, number]}
 */
function readQuoted(text, start, separator) {
  let end = text.indexOf('"', start);
  while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
  if (end < 0) return [text.slice(start).replaceAll('""', '"'), text.length];
  const cell = text.slice(start, end).replaceAll('""', '"');
  // What stands between the closing quote and the separator is taken as it is.
  const [rest, next] = readPlain(text, end + 1, separator);
  return [cell + rest, next];
}
