import fs from "node:fs";
import { describeError, type Logger } from "../../common/log.ts";
import type { OpenFile, Root } from "../files/mod.ts";
import { openFile } from "./find_page.ts";
import { readBytes } from "../../net/file_http/mod.ts";

/** Rule file names in a site's folder. Visitors cannot read them. */
export const RULE_FILES: readonly string[] = ["_headers", "_redirects"];
/** Most bytes and rules in a rule file. */
const MAX_RULE_FILE = 256 * 1024;
const MAX_RULES = 2000;
/** Redirect statuses; 200 serves another file at the same address. */
const STATUSES: readonly number[] = [200, 301, 302, 303, 307, 308, 404];
/** Fields that describe one response and its length. */
const FORBIDDEN_FIELDS =
  /^(?:connection|content-(?:encoding|length|range)|date|etag|keep-alive|te|trailer|transfer-encoding|upgrade)$/i;

/** A `_redirects` line that fits a request. */
export interface Redirect {
  readonly status: number;
  /** The new address, escaped, with the request's query unless the rule has one. */
  readonly location: string;
}

/** A site's rules: fields for paths, and redirects. */
export interface SiteRules {
  /** Returns the redirect for a path without its query, or null. Forced rules also apply where a file is. */
  redirect(path: string, search: string, isForced: boolean): Redirect | null;
  /** Sets the fields that `_headers` has for a path. */
  dress(path: string, headers: Headers): void;
}

interface HeaderRule {
  readonly pattern: RegExp;
  readonly fields: [name: string, value: string][];
}

interface RedirectRule {
  readonly pattern: RegExp;
  readonly to: string;
  readonly status: number;
  readonly isForced: boolean;
}

/** A site's rule files, read again whenever one has changed. */
export class SiteRuleFiles {
  readonly #root: Root;
  readonly #log: Logger;
  #stamp: string;
  #rules: SiteRules;

  /** @throws SyntaxError for a line that is no rule */
  constructor(root: Root, log: Logger) {
    this.#root = root;
    this.#log = log;
    this.#stamp = this.#describe();
    this.#rules = this.#read();
  }

  /** Returns the current rules. A file with a mistake is logged once, and the former rules stay. */
  load(): SiteRules {
    const stamp = this.#describe();
    if (stamp === this.#stamp) return this.#rules;
    this.#stamp = stamp;
    try {
      this.#rules = this.#read();
    } catch (error) {
      this.#log.warn("site_rules_rejected", { reason: describeError(error) });
    }
    return this.#rules;
  }

  #describe(): string {
    return RULE_FILES.map((name) => {
      const stat = fs.statSync(`${this.#root.path}/${name}`, { throwIfNoEntry: false });
      return stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`;
    }).join("|");
  }

  #read(): SiteRules {
    const [headers, redirects] = RULE_FILES.map((name) => {
      const file = openFile(this.#root, [name]);
      try {
        return file === null ? "" : readText(file);
      } finally {
        file?.close();
      }
    });
    return compileRules(headers, redirects);
  }
}

function readText(file: OpenFile): string {
  if (file.stat.size > MAX_RULE_FILE) throw new SyntaxError(`a rule file has more than ${MAX_RULE_FILE} bytes`);
  return new TextDecoder().decode(readBytes(file, 0, file.stat.size));
}

/**
 * Compiles the two rule files, whose grammar other hosts for static sites share.
 * @throws SyntaxError with file and line
 */
function compileRules(headers: string, redirects: string): SiteRules {
  const headerRules = parseHeaders(headers), redirectRules = parseRedirects(redirects);
  return {
    redirect(path, search, isForced) {
      for (const rule of redirectRules) {
        if (rule.isForced !== isForced) continue;
        const match = rule.pattern.exec(path);
        if (match !== null) return { status: rule.status, location: fill(rule.to, match.groups ?? {}, search) };
      }
      return null;
    },
    dress(path, target) {
      for (const { pattern, fields } of headerRules) {
        if (!pattern.test(path)) continue;
        for (const [name, value] of fields) target.set(name, value);
      }
    },
  };
}

function parseHeaders(text: string): HeaderRule[] {
  const rules: HeaderRule[] = [];
  for (const [number, line] of listLines(text)) {
    if (!/^\s/.test(line)) {
      rules.push({ pattern: compilePattern(line, "_headers", number), fields: [] });
      continue;
    }
    const [, name, value] = /^\s+([\w!#$%&'*+.^`|~-]+):\s*(.*)$/.exec(line) ?? [];
    const rule = rules.at(-1);
    if (name === undefined || rule === undefined) {
      throw badLine("_headers", number, "a field such as X-Name: value is expected");
    }
    if (FORBIDDEN_FIELDS.test(name)) throw badLine("_headers", number, `${name} cannot be set`);
    rule.fields.push([name, value]);
  }
  return limit(rules, "_headers");
}

function parseRedirects(text: string): RedirectRule[] {
  const rules = listLines(text).map(([number, line]): RedirectRule => {
    const [from, to, code = "301", ...more] = line.trim().split(/\s+/);
    const [, digits, force] = /^(\d{3})(!?)$/.exec(code) ?? [];
    const status = Number(digits);
    if (to === undefined || more.length > 0 || !STATUSES.includes(status)) {
      throw badLine("_redirects", number, "a line such as /old/* /new/:splat 301 is expected");
    }
    if (!/^(?:\/(?!\/)|https?:\/\/)[\x21-\x7e]*$/.test(to)) {
      throw badLine("_redirects", number, "the target must be a path or an http(s) URL, escaped");
    }
    const isFile = status === 200 || status === 404;
    if (isFile && !to.startsWith("/")) throw badLine("_redirects", number, `status ${status} needs a path of the site`);
    return { pattern: compilePattern(from, "_redirects", number), to, status, isForced: force === "!" };
  });
  return limit(rules, "_redirects");
}

function listLines(text: string): [number: number, line: string][] {
  return text.replace(/^\ufeff/, "").split(/\r?\n/)
    .map((line, index): [number, string] => [index + 1, line.trimEnd()])
    .filter(([, line]) => line !== "" && !/^\s*#/.test(line));
}

/** `*` at the end matches the rest, `:name` one segment. So a match takes linear time. */
function compilePattern(path: string, file: string, line: number): RegExp {
  if (!/^\/[^*?#\s]*\*?$/.test(path)) throw badLine(file, line, "a path such as /docs/* is expected");
  const isOpen = path.endsWith("*");
  const source = path.replace(/\*$/, "").split("/").map((part) =>
    /^:\w+$/.test(part) ? `(?<${part.slice(1)}>[^/]+)` : part.replace(/[.+^${}()|[\]\\]/g, "\\$&")
  ).join("/");
  const end = !isOpen ? "/?" : source.endsWith("/") ? "?(?<splat>.*)" : "(?<splat>.*)";
  try {
    return new RegExp(`^${source}${end}$`, "s");
  } catch (cause) {
    throw badLine(file, line, "a name is used twice", cause);
  }
}

function fill(to: string, groups: Readonly<Record<string, string | undefined>>, search: string): string {
  const location = to.replace(/:(\w+)/g, (all, name: string) => groups[name] ?? all);
  // A splat that begins with a slash must not turn a path into another host's address.
  const safe = to.startsWith("/") ? location.replace(/^\/{2,}/, "/") : location;
  const [target, hash = ""] = safe.split(/(?=#)/, 2);
  return target.includes("?") ? safe : target + search + hash;
}

function limit<T>(rules: T[], file: string): T[] {
  if (rules.length > MAX_RULES) throw new SyntaxError(`${file} has more than ${MAX_RULES} rules`);
  return rules;
}

function badLine(file: string, line: number, reason: string, cause?: unknown): SyntaxError {
  return new SyntaxError(`${file}, line ${line}: ${reason}`, { cause });
}
