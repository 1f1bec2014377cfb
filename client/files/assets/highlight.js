// Colours for code: comments, strings, numbers and keywords, by a few families of languages. It is for reading,
// not for compilers; what it does not know stays plain.

const C_WORDS = "abstract as async await bool boolean break byte case catch char class const continue def default " +
  "defer delete do double else enum export extends extern false final finally float fn for foreach from func function " +
  "get go goto if impl implements import in instanceof int interface internal is let long loop match mod module mut " +
  "namespace new nil null of operator override package private protected pub public readonly ref return self set short " +
  "sizeof static string struct super switch this throw throws trait true try type typeof undefined union unsafe use " +
  "using val var virtual void volatile when where while with yield";
const HASH_WORDS =
  "and as assert async await begin break case class continue def del do done elif else elsif end esac " +
  "except exit export false False fi finally for from function global if import in is lambda local module next nil None " +
  "nonlocal not null or pass raise require rescue return self set source then true True try unless until when while " +
  "with yield";
const SQL_WORDS = "add all alter and as asc begin between by case check commit constraint create default delete desc " +
  "distinct drop else end exists foreign from group having in index inner insert into is join key left like limit not " +
  "null on or order outer primary references right rollback select set table then union unique update values view when " +
  "where with";

const STRINGS = "\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\\\n])*'|`(?:\\\\.|[^`\\\\])*`";
const NUMBER = "\\b(?:0x[\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d+)?(?:e[+-]?\\d+)?)\\b";
const WORD = "[A-Za-z_$][\\w$]*";

const FAMILIES = [
  [
    "c",
    "\\/\\/[^\\n]*|\\/\\*[^]*?(?:\\*\\/|$)",
    C_WORDS,
    "js mjs cjs jsx ts tsx mts cts json jsonc java kt kts go rs c h " +
    "cc cpp hpp cs swift php dart scala zig groovy gradle proto css scss less vue svelte graphql",
  ],
  [
    "hash",
    '#[^\\n]*|"""[^]*?(?:"""|$)',
    HASH_WORDS,
    "py rb sh bash zsh fish pl yaml yml toml ini cfg conf env r jl " +
    "nix ex exs cmake makefile dockerfile tf ps1 properties",
  ],
  ["sql", "--[^\\n]*|\\/\\*[^]*?(?:\\*\\/|$)", SQL_WORDS, "sql lua hs"],
  ["xml", "<!--[^]*?(?:-->|$)", "", "html htm xml svg xhtml"],
];
const LANGUAGES = new Map(FAMILIES.flatMap(([name, comment, words, endings]) => {
  const rule = {
    name,
    pattern: new RegExp(`(${comment})|(${STRINGS})|(${NUMBER})|(${WORD})`, "gi"),
    words: toSet(words),
  };
  return endings.split(" ").map((ending) => [ending, rule]);
}));

/** The text as nodes, coloured when the language is known. */
export function highlight(text, language) {
  const rule = LANGUAGES.get(language);
  const fragment = document.createDocumentFragment();
  if (rule === undefined || text.length > 400_000) {
    fragment.append(text);
    return fragment;
  }
  let end = 0;
  for (const match of text.matchAll(rule.pattern)) {
    const kind = classify(match, rule);
    if (kind === null) continue;
    if (match.index > end) fragment.append(text.slice(end, match.index));
    const span = document.createElement("span");
    span.className = `t-${kind}`;
    span.textContent = match[0];
    fragment.append(span);
    end = match.index + match[0].length;
  }
  fragment.append(text.slice(end));
  return fragment;
}

function classify([, comment, string, number, word], rule) {
  if (comment !== undefined) return "comment";
  if (string !== undefined) return "string";
  if (number !== undefined) return "number";
  return rule.words.has(rule.name === "sql" ? word.toLowerCase() : word) ? "word" : null;
}

function toSet(words) {
  return new Set(words.split(" "));
}
