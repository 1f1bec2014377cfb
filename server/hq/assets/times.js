// @ts-check

/** Time formats by `data-time`. */
const FORMATS = {
  minutes: new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" }),
  seconds: new Intl.DateTimeFormat(undefined, { timeStyle: "medium" }),
};

/**
 * Converts times from UTC to the user's time zone.
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
