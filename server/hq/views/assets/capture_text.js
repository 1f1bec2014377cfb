// @ts-check
import { byteText, readable } from "../../../../web/viewer/text.js";

/** @typedef {import("../../../../common/captures/capture_json.ts").OpenedCaptureJson} Capture */
/** @typedef {import("./capture_types.ts").Filter} Filter */

/**
 * Returns path and query below the view.
 * @param {Pick<Capture, "path" | "query">} capture
 */
export function shownPath({ path, query }) {
  const below = path.replace(/^\/req\/[^/]*/, "");
  return readable(`${below || "/"}${query === null ? "" : `?${query}`}`);
}

/**
 * Describes how many calls a list shows.
 * @param {number} shown
 * @param {number | null} total null when the match count is unknown
 * @param {boolean} isWhole whether the list contains them all
 */
export function describeCount(shown, total, isWhole) {
  if (!isWhole && total === null) return `The newest ${shown} that match, more below`;
  const count = isWhole || total === null ? shown : Math.max(shown, total);
  return `${count} ${count === 1 ? "call" : "calls"}`;
}

/**
 * Whether a new capture matches a filter, by the server's rules.
 * @param {Capture} capture with its body, as far as it is there
 * @param {Filter} filter
 */
export function matches(capture, { q, method, path, from, to }) {
  const target = `${capture.path}${capture.query === null ? "" : `?${capture.query}`}`.toLowerCase();
  const time = Date.parse(capture.receivedAt);
  if (method !== "" && capture.method !== method) return false;
  if (path !== "" && !target.includes(wanted(path))) return false;
  if (from !== "" && time < Date.parse(from)) return false;
  if (to !== "" && time >= Date.parse(to)) return false;
  if (q === "") return true;
  const lines = capture.headers.map(([name, value]) => `${name}: ${value}`);
  const head = [capture.method, target, ...lines].join("\n").toLowerCase();
  return head.includes(wanted(q)) ||
    (capture.body !== undefined && atob(capture.body).toLowerCase().includes(wanted(q)));
}

/** @param {string} text */
const wanted = (text) => byteText(new TextEncoder().encode(text)).toLowerCase();

/**
 * Returns a filter's API query.
 * @param {Filter} filter
 */
export function queryOf(filter) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) if (value !== "") query.set(name, value);
  return query;
}
