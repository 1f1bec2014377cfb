import { HttpError } from "../../../common/http_error.ts";
import { createEntityTag, hasStrongMatch, preconditionFailed } from "../../../net/file_http/mod.ts";
import { getErrorCode } from "../disk/fs_error.ts";
import type { Folder, OpenFile, Root } from "../disk/root.ts";
import { parsePath, type SharePathOptions } from "../disk/share_path.ts";
import type { DavState } from "./propfind.ts";

/** The If field of a request (RFC 4918, section 10.4). */
export interface IfHeader {
  /** Every lock token in it: they count as known to the sender. */
  readonly tokens: ReadonlySet<string>;
  readonly lists: readonly ConditionList[];
}

interface ConditionList {
  /** Names of what it is about; null for what the request is about. */
  readonly segments: readonly string[] | null;
  /** Whether `segments` stands for something that cannot be here. */
  readonly isElsewhere: boolean;
  readonly conditions: readonly Condition[];
}

interface Condition {
  readonly isNot: boolean;
  readonly token?: string;
  readonly tag?: string;
}

/** What is at a path: its lock tokens and its entity tag, null when there is none. */
export type LookUp = (segments: readonly string[]) => { tokens: ReadonlySet<string>; tag: string | null };

/** Lists and conditions together: no client names more than a handful. */
const MAX_PARTS = 200;

/**
 * Parses an If field; null when there is none.
 * @throws HttpError 400
 */
export function parseIfHeader(field: string | null, options: SharePathOptions = {}): IfHeader | null {
  if (field === null) return null;
  const tokens = new Set<string>();
  const lists: ConditionList[] = [];
  let place: Pick<ConditionList, "segments" | "isElsewhere"> = { segments: null, isElsewhere: false };
  let rest = field.trim();
  let parts = 0;
  while (rest !== "") {
    if (++parts > MAX_PARTS) throw badIf();
    const tagged = /^<([^<>]*)>\s*/.exec(rest);
    if (tagged !== null) place = readPlace(tagged[1], options);
    if (tagged !== null) rest = rest.slice(tagged[0].length);
    const list = /^\(([^()]*)\)\s*/.exec(rest);
    if (list === null) throw badIf();
    lists.push({ ...place, conditions: readConditions(list[1], tokens) });
    rest = rest.slice(list[0].length);
  }
  if (lists.length === 0) throw badIf();
  return { tokens, lists };
}

function readPlace(url: string, options: SharePathOptions): Pick<ConditionList, "segments" | "isElsewhere"> {
  try {
    return { segments: parsePath(url.replace(/^https?:\/\/[^/]*/i, "") || "/", options).segments, isElsewhere: false };
  } catch {
    // An address that names nothing here has no lock and no tag; the list with it just does not hold.
    return { segments: null, isElsewhere: true };
  }
}

function readConditions(text: string, tokens: Set<string>): Condition[] {
  const conditions: Condition[] = [];
  let rest = text.trim();
  while (rest !== "") {
    const found = /^(Not\b\s*)?(?:<([^<>]+)>|\[((?:W\/)?"[^"]*")\])\s*/i.exec(rest);
    if (found === null || conditions.length >= MAX_PARTS) throw badIf();
    const [all, not, token, tag] = found;
    conditions.push({ isNot: not !== undefined, token, tag });
    if (token !== undefined) tokens.add(token);
    rest = rest.slice(all.length);
  }
  if (conditions.length === 0) throw badIf();
  return conditions;
}

/** Whether one of the lists holds. */
export function holds({ lists }: IfHeader, segments: readonly string[], lookUp: LookUp): boolean {
  return lists.some((list) => {
    const state = list.isElsewhere ? NOTHING : lookUp(list.segments ?? segments);
    return list.conditions.every(({ isNot, token, tag }) => {
      const isTrue = token !== undefined
        ? state.tokens.has(token)
        : tag !== undefined && state.tag !== null && hasStrongMatch([tag], state.tag);
      return isTrue !== isNot;
    });
  });
}

const NOTHING = { tokens: new Set<string>(), tag: null };

function badIf(): HttpError {
  return new HttpError(400, "bad_if", "The If field cannot be understood.");
}

/** Lock tokens that a request has sent, each of which shows that its sender holds the lock. */
export type Tokens = ReadonlySet<string>;

const NO_TOKENS: Tokens = new Set();

/**
 * Reads the If field of a request and checks that it holds.
 * @returns the lock tokens in it
 * @throws HttpError 412 when it does not hold, 400 when it is malformed
 */
export function checkIfHeader(request: Request, segments: readonly string[], { root, locks }: DavState): Tokens {
  const field = parseIfHeader(request.headers.get("if"), root);
  if (field === null) return NO_TOKENS;
  const isTrue = holds(field, segments, (names) => ({
    tokens: new Set(locks.covering(names).map(({ token }) => token)),
    tag: readTag(root, names),
  }));
  if (!isTrue) throw preconditionFailed(null);
  return field.tokens;
}

function readTag(root: Root, segments: readonly string[]): string | null {
  const opened = openIfThere(root, segments);
  try {
    return opened?.kind === "file" ? createEntityTag(opened.stat) : null;
  } finally {
    opened?.close();
  }
}

/** What is at an address; null when nothing is there to be seen. @throws the system's other errors */
export function openIfThere(root: Root, segments: readonly string[]): OpenFile | Folder | null {
  try {
    return root.open(segments);
  } catch (error) {
    const isMissing = error instanceof HttpError ? error.status === 404 : getErrorCode(error) === "ENOENT";
    if (isMissing) return null;
    throw error;
  }
}
