import type { ViewRecord } from "./records.ts";

/** No view, or more than one, matches the given text. The message is a line for the user. */
class NoSuchView extends Error {
  override name = "NoSuchView";
}

/** Enough characters to tell ids apart. */
const SHOWN_ID = 8;

/**
 * Chooses a view by its id, the id's beginning, or its name. Case matters only between names that differ in nothing
 * else.
 * @throws NoSuchView
 */
export function chooseView(views: readonly ViewRecord[], given: string): ViewRecord {
  const asked = given.trim(), lower = asked.toLowerCase();
  const rules: ((view: ViewRecord) => boolean)[] = [
    ({ id }) => id === lower,
    ({ name }) => name === asked,
    ({ name }) => name.toLowerCase() === lower,
    ({ id }) => lower !== "" && id.startsWith(lower),
  ];
  for (const rule of rules) {
    const found = views.filter(rule);
    if (found.length === 1) return found[0];
    if (found.length > 1) throw new NoSuchView(`"${asked}" is more than one view: ${describe(found)}`);
  }
  const known = views.length === 0 ? "there is none yet: --views-add makes one" : describe(views);
  throw new NoSuchView(`there is no view "${asked}" in this account: ${known}`);
}

const describe = (views: readonly ViewRecord[]) =>
  views.slice(0, 10).map(({ id, name }) => `${id.slice(0, SHOWN_ID)} ${name}`).join(", ") +
  (views.length > 10 ? ", …" : "");
