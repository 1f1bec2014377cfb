/** Extracts prose from source files and Markdown: comments, paragraphs, list items and error messages. */

/** A sentence and its location. */
export interface Sentence {
  readonly text: string;
  /** Word count; a code span counts as one word. */
  readonly words: number;
  /** Path relative to the project, with forward slashes. */
  readonly file: string;
  /** First line in its block, from 1. */
  readonly line: number;
}

/** A comment paragraph, a list item or a Markdown paragraph. */
interface Block {
  readonly text: string;
  readonly line: number;
}

/** Comments with these words are licences or instructions to tools. */
const NO_PROSE = /Copyright|SPDX|Licen[sc]ed under|deno-lint|@ts-|voice-ok/;

/**
 * Returns all sentences in one file.
 * @param file path with forward slashes; its extension selects Markdown or source
 */
export function extractSentences(file: string, text: string): Sentence[] {
  const blocks = file.endsWith(".md") ? markdownBlocks(text) : [...commentBlocks(text), ...messageBlocks(text)];
  return blocks.flatMap((block) => splitSentences(block, file));
}

/** Returns all sentences in separate lines, for example commit subjects. */
export function extractLines(name: string, lines: readonly string[]): Sentence[] {
  return lines.flatMap((text, index) => splitSentences({ text: cleanRow(text), line: index + 1 }, name));
}

/** String literals with a space, among the first 300 characters after `new ...Error(`. */
function messageBlocks(source: string): Block[] {
  return [...source.matchAll(/\bnew \w*Error\(([^;]{0,300}?)\)(?:[;,)]|$)/gm)].flatMap(({ 1: args, index }) => {
    const line = source.slice(0, index).split("\n").length;
    const literals = args.match(/"[^"\n]* [^"\n]*"|`[^`]* [^`]*`/g) ?? [];
    return literals.map((text) => ({ text: text.slice(1, -1).replace(/\$\{[^}]*\}/g, "CODE"), line }));
  });
}

/** Returns comments. Adjacent line comments form one block. */
function commentBlocks(source: string): Block[] {
  const blocks: Block[] = [];
  let rows: string[] = [], firstLine = 1, line = 1, at = 0;
  const push = () => {
    if (rows.length > 0) blocks.push(...splitParagraphs(rows.join("\n"), firstLine));
    rows = [];
  };
  const moveTo = (end: number) => {
    line += source.slice(at, end).split("\n").length - 1;
    at = end;
  };
  while (at < source.length) {
    const char = source[at], next = source[at + 1];
    if (char === "/" && next === "/") {
      const end = indexOrEnd(source, "\n", at);
      const isAlone = source.slice(source.lastIndexOf("\n", at - 1) + 1, at).trim() === "";
      if (!isAlone || firstLine + rows.length !== line) push();
      if (rows.length === 0) firstLine = line;
      rows.push(source.slice(at, end).replace(/^\/\/[/!]? ?/, ""));
      at = end;
    } else if (char === "/" && next === "*") {
      const end = indexOrEnd(source, "*/", at + 2);
      push();
      const body = source.slice(at + 2, end).replace(/^\*/, "").split("\n").map((row) => row.replace(/^\s*\* ?/, ""));
      blocks.push(...splitParagraphs(body.join("\n"), line));
      moveTo(end + 2);
    } else if (char === '"' || char === "`" || char === "'") moveTo(skipString(source, at));
    else if (char === "/" && /[(,=:[!&|?{};]\s*$|\breturn\s*$/.test(source.slice(Math.max(0, at - 12), at))) {
      moveTo(skipRegExp(source, at));
    } else moveTo(at + 1);
  }
  push();
  return blocks.filter(({ text }) => !NO_PROSE.test(text));
}

function skipRegExp(source: string, start: number): number {
  let inClass = false;
  for (let at = start + 1; at < source.length && source[at] !== "\n"; at++) {
    if (source[at] === "\\") at++;
    else if (source[at] === "[") inClass = true;
    else if (source[at] === "]") inClass = false;
    else if (source[at] === "/" && !inClass) return at + 1;
  }
  return start + 1;
}

function skipString(source: string, start: number): number {
  const quote = source[start];
  for (let at = start + 1; at < source.length; at++) {
    if (source[at] === "\\") at++;
    else if (source[at] === quote) return at + 1;
    else if (source[at] === "\n" && quote !== "`") return at;
  }
  return source.length;
}

function indexOrEnd(source: string, text: string, from: number): number {
  const at = source.indexOf(text, from);
  return at < 0 ? source.length : at;
}

/** Splits at empty lines, tags and list items, and drops code and tables. */
function splitParagraphs(text: string, firstLine: number): Block[] {
  const blocks: Block[] = [];
  let current = "", start = firstLine, inCode = false;
  const push = () => {
    if (current.trim() !== "") blocks.push({ text: current.trim(), line: start });
    current = "";
  };
  text.split("\n").forEach((row, index) => {
    if (/^\s*(?:```|~~~)/.test(row)) {
      push();
      inCode = !inCode;
      return;
    }
    if (inCode || row.trim() === "" || isTableOrCode(row)) return push();
    if (/^\s*(?:[-*+]|\d+[.)]|@\w+|#+)\s/.test(row)) push();
    if (current === "") start = firstLine + index;
    current += ` ${cleanRow(row)}`;
  });
  push();
  return blocks;
}

function isTableOrCode(row: string): boolean {
  return /^\s*\|| \| |^\s{4,}\S/.test(row) ||
    /^\s*@(?:example|template|type|typedef|property|prop|license|module|see|ts-)\b/.test(row);
}

function markdownBlocks(text: string): Block[] {
  const prose = text.split("\n").map((row) => /^\s*(?:\||#|<|\[[^\]]+\]:)/.test(row) ? "" : row).join("\n");
  return splitParagraphs(prose, 1);
}

/** Replaces code with one word and links with their text, and removes tags and markers. */
function cleanRow(row: string): string {
  return row
    .replace(/^\s*(?:[-*+]|\d+[.)])\s+/, "")
    .replace(/^\s*@(?:param|returns?|throws?|yields)\s*(?:\{[^}]*\})?\s*(?:\[?[\w.$]+\]?\s*-?\s*)?/, "")
    .replace(/\{@link\s+([^}]*)\}/g, "CODE")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/`[^`]*`/g, "CODE")
    .replace(/https?:\/\/\S+/g, "CODE")
    .replace(/[*_]{1,2}(\S[^*_]*)[*_]{1,2}/g, "$1");
}

function splitSentences({ text, line }: Block, file: string): Sentence[] {
  const parts = text.replace(/\s+/g, " ").replace(/\b(?:e\.g|i\.e|etc|vs|cf)\./g, (short) => short.slice(0, -1))
    .split(/(?<=[.!?]["')]?) +(?=["'(]?[A-Z0-9`])/);
  return parts.flatMap((part) => {
    const words = part.match(/[A-Za-z][\w'’/-]*/g)?.length ?? 0;
    // Titles, names and code remainders are not sentences.
    return words < 3 || /[{}=;]\s*$|=>|\) \{/.test(part) ? [] : [{ text: part.trim(), words, file, line }];
  });
}
