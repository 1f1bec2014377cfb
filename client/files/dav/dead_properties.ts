import { HttpError } from "../../../common/http_error.ts";
import { foldName } from "../../../common/platform/mod.ts";

/** Properties of one file or folder that clients have made up, as elements, by `{namespace}name`. */
export type Dead = ReadonlyMap<string, string>;

/** All that is kept, in characters, with an allowance for each of them. */
const MAX_SIZE = 4 * 1024 * 1024;
const OVERHEAD = 200;

/** What clients want to be remembered about files and folders, kept as long as the share runs. */
export class DeadProperties {
  readonly #byPath = new Map<string, Map<string, string>>();
  #size = 0;

  /** What clients have set of the file or folder at this place; none is an empty map. */
  get(segments: readonly string[]): Dead {
    return this.#byPath.get(toKey(segments)) ?? NONE;
  }

  /**
   * Sets properties, or with null removes them, all or none.
   * @throws HttpError 507 when there is no room for them
   */
  change(segments: readonly string[], changes: ReadonlyMap<string, string | null>): void {
    const next = new Map(this.get(segments));
    for (const [name, value] of changes) {
      if (value === null) next.delete(name);
      else next.set(name, value);
    }
    if (!this.#put(toKey(segments), next)) {
      throw new HttpError(507, "too_many_properties", "There is no room for more properties.");
    }
  }

  /** Takes what is kept of a path and all below it along to another, as far as there is room. */
  move(from: readonly string[], to: readonly string[]): void {
    const moved = this.#take(from);
    this.remove(to);
    for (const [rest, dead] of moved) this.#put(toKey(to) + rest, dead);
  }

  /** Does the same without forgetting it at its old path. */
  copy(from: readonly string[], to: readonly string[], isDeep: boolean): void {
    this.remove(to);
    for (const [rest, dead] of this.#list(from)) if (isDeep || rest === "") this.#put(toKey(to) + rest, new Map(dead));
  }

  /** Forgets what is kept of a path and all below it. */
  remove(segments: readonly string[]): void {
    this.#take(segments);
  }

  #take(segments: readonly string[]): [string, Map<string, string>][] {
    const found = this.#list(segments);
    for (const [rest] of found) this.#put(toKey(segments) + rest, new Map());
    return found;
  }

  /** What is kept of a path and below it, each under what comes behind the path. */
  #list(segments: readonly string[]): [string, Map<string, string>][] {
    const key = toKey(segments);
    return [...this.#byPath]
      .filter(([path]) => path === key || path.startsWith(`${key}/`))
      .map(([path, dead]) => [path.slice(key.length), dead]);
  }

  /** Returns false, and changes nothing, when there is no room. */
  #put(key: string, dead: Map<string, string>): boolean {
    const size = this.#size - measure(key, this.#byPath.get(key) ?? NONE) + measure(key, dead);
    if (size > Math.max(MAX_SIZE, this.#size)) return false;
    this.#size = size;
    if (dead.size === 0) this.#byPath.delete(key);
    else this.#byPath.set(key, dead);
    return true;
  }
}

const NONE: Dead = new Map();

function measure(key: string, dead: Dead): number {
  let size = 0;
  for (const [name, value] of dead) size += name.length + value.length + OVERHEAD;
  return size === 0 ? 0 : size + key.length + OVERHEAD;
}

/** Every name with a slash before it, so that all below a path, be it the root, begins with the path and a slash. */
function toKey(segments: readonly string[]): string {
  return segments.map((name) => `/${foldName(name)}`).join("");
}
