// @ts-check

/** How moments are told, by what `data-time` says. */
const FORMATS = {
  minutes: new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" }),
  seconds: new Intl.DateTimeFormat(undefined, { timeStyle: "medium" }),
};

/**
 * Moments in the reader's own time, instead of UTC.
 * @param {ParentNode} root
 */
export function showTimes(root) {
  for (const element of root.querySelectorAll("time[data-time]")) {
    if (!(element instanceof HTMLTimeElement)) continue;
    const date = new Date(element.dateTime);
    const format = element.dataset.time === "seconds" ? FORMATS.seconds : FORMATS.minutes;
    const text = format.format(date);
    if (element.textContent !== text) element.textContent = text;
    element.title = date.toLocaleString();
  }
}
