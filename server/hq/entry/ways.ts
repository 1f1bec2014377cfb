import type { Entered } from "../../accounts/mod.ts";
import { isLoopbackHost } from "../../../common/loopback.ts";
import { goTo, safeNext } from "../page.tsx";

/** What brought somebody to an entry page, kept in its forms and links. */
export interface Way {
  /** A page of ours to go on to; "" for none. */
  next: string;
  /** The query that a client's login led here with, with all its parameters; "" for none. */
  oauth: string;
  /** The invitation that somebody follows; "" for none. */
  invitation: string;
}

/** Names that only the query of a client's login has. */
const OAUTH_NAMES = ["client_id", "sig"];

/** The way that the query of an entry page tells. */
export function readWay(url: string): Way {
  const { search, searchParams } = new URL(url);
  if (OAUTH_NAMES.every((name) => searchParams.has(name))) {
    return { next: "", oauth: search.slice(1), invitation: "" };
  }
  const next = searchParams.get("next");
  return {
    next: next === null ? "" : safeNext(next, ""),
    oauth: "",
    invitation: searchParams.get("invitation") ?? "",
  };
}

/** The way that a form kept in hidden fields. */
export function wayOfForm(fields: URLSearchParams): Way {
  return {
    next: safeNext(fields.get("next"), ""),
    oauth: fields.get("oauth") ?? "",
    invitation: fields.get("invitation") ?? "",
  };
}

/** The address of another entry page on the same way. */
export function entryUrl(path: string, { next, oauth, invitation }: Way): string {
  if (oauth !== "") return `${path}?${oauth}`;
  const query = new URLSearchParams();
  if (next !== "") query.set("next", next);
  if (invitation !== "") query.set("invitation", invitation);
  return query.size === 0 ? path : `${path}?${query}`;
}

/** Goes on after a form that let somebody in. */
export function goOn({ cookies, next }: Entered, way: Way): Response {
  return goTo(next ?? safeNext(way.next), cookies);
}

/**
 * The origins besides HQ to which a form of that query may redirect. After a client's login the browser continues at the
 * client's own address, and browsers apply `form-action` to the whole chain of redirects. The query is not verified yet,
 * so only a loopback address counts, as clients have: other text would become part of the page's policy.
 */
export function formTargetsOf(query: string): string[] {
  const redirect = URL.parse(new URLSearchParams(query).get("redirect_uri") ?? "");
  if (redirect === null || !isLoopbackHost(redirect.hostname)) return [];
  // The URL standard lets a host contain `;` and `*`.
  return /^https?:\/\/[\w.:[\]-]+$/.test(redirect.origin) ? [redirect.origin] : [];
}
