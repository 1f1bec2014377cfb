import type { Sentence } from "./_prose.ts";

/** Upper bounds for {@link measure}. Well-written open-source projects stay below all. */
export const LIMITS = {
  /** Percentage with over 30 words. */
  longSentences: 5,
  /** Per 1,000 words: pronoun clauses used as nouns. */
  pronounClauses: 2,
  /** Per 1,000 words: the simplest sign for such clauses. */
  what: 2,
  /** Per 1,000 words: subjects without a name. */
  indefinites: 1.5,
  /** Percentage. */
  pronounStarts: 4,
  /** Per 1,000 words: many show noun chains. */
  of: 22,
  /** Per 1,000 words: private words with a standard term. */
  privateWords: 0.5,
};

/** One rate per limit. */
export type Rates = Record<keyof typeof LIMITS, number>;

/** Private words with their standard terms. Context excludes ordinary uses. */
const PRIVATE_WORDS: readonly [pattern: RegExp, instead: string][] = [
  [/\b(?:who|whoever) asks\b/i, "caller, client"],
  [/\bturns? of the event loop\b/i, "event loop iteration, tick"],
  [/\b(?:is|are|isn't|be|being|when) crowded\b|\bcrowded\b/i, "over the connection limit"],
  [
    /\b(?:the|a|an|its|one|each|every|other|another|which|of|many) faces?\b|\bfaces? (?:of|that|and|is|are)\b/i,
    "route handler",
  ],
  [/\b(?:the|a|an|its|tunnel|view) desks?\b|\bdesk\//i, "service, API service"],
  [/\b(?:content |transfer |chunked |the |a |its |of )codings?\b/i, "content encoding"],
  [/\banswer(?:s|ed|ing)?\b/i, "response, respond"],
  [/\b(?:is|are|was|were|be|been) told\b|\btells? of\b|\btold of\b/i, "report, notify, log"],
  [/\b(?:goes|go|went|going) on (?:with|behind|as|in|and|to|by)\b|\bgo(?:es)? on\b/i, "continue"],
  [/\bstands? (?:in|at|before|behind|beside|above|for|where|alone)\b|\bstood\b/i, "is, appears"],
  [/\bstrangers?\b/i, "unauthenticated client, untrusted input"],
  [
    /\b(?:has|have|had|gives?|given|takes?|took) (?:its|their|no|a) places?\b|\bplaces? (?:is|are) kept\b|\bhas place\b/i,
    "slot",
  ],
  [/\bfaults?\b/i, "error, rejection reason"],
  [/\bin the same breath\b|\bis nobody's\b|\bnobody else's\b/i, "say what happens"],
  [/\bvisitors? (?:has |have |had |who )?(?:left|leaves?)\b|\bwho leaves?\b/i, "disconnected, closed the connection"],
];

/** Verbs and pronouns after which a pronoun opens a clause. */
const VERBS =
  "is|was|are|were|has|had|have|can|could|may|might|must|needs?|comes?|came|goes|went|stands?|stood|follows?|waits?|" +
  "asks?|asked|leaves?|left|holds?|sends?|sent|takes?|took|reads?|gives?|gave|remains?|passes|serves?|carries|carried|" +
  "knows?|speaks?|wants?|does|did|stays?|lies|begins?|ends?|ended|loads?|runs?|belongs|makes?|happened|happens|gets?|cannot|others?";
const PRONOUN_CLAUSE = new RegExp(
  // with "what"
  `\\bwhat (?:${VERBS}|they|it|he|she|nobody|somebody|anyone|everyone)\\b` +
    // with "ever"
    `|\\b(?:whoever|whatever|whomever|whichever)\\b` +
    // with "who" and no noun before it
    `|(?:^|[,;:(] |\\b(?:of|for|to|by|from|with|than|as|and|or|that|lets?|tells?|told|asks?|knows?|says?|but|is|are|wakes?) )who(?:m|se)? (?:${VERBS}|they|it)\\b` +
    // with "those", "one", "that"
    `|\\b(?:those|ones?) (?:that|which|who)\\b|\\bthose of\\b|\\bthat which\\b`,
  "gi",
);
const INDEFINITE =
  /\b(?:nobody|somebody|anybody|everybody|someone|anyone|everyone|no one|nothing|something|anything|everything)\b/gi;
const PRONOUN_START = /^(?:it|its|they|their|them|what|whoever|who|whose|nobody|somebody|those|others?|there) /i;

/** Returns all rates. */
export function measure(sentences: readonly Sentence[]): Rates {
  const words = sentences.reduce((sum, { words }) => sum + words, 0);
  const perThousand = (pattern: RegExp) => 1000 * countAll(sentences, pattern) / words;
  const percent = (count: number) => 100 * count / sentences.length;
  return {
    longSentences: percent(sentences.filter(({ words }) => words > 30).length),
    pronounClauses: perThousand(PRONOUN_CLAUSE),
    what: perThousand(/\bwhat\b/gi),
    indefinites: perThousand(INDEFINITE),
    pronounStarts: percent(sentences.filter(({ text }) => PRONOUN_START.test(text)).length),
    of: perThousand(/\bof\b/gi),
    privateWords: PRIVATE_WORDS.reduce((sum, [pattern]) => sum + perThousand(asGlobal(pattern)), 0),
  };
}

/** Returns the sentences that break the rules most, hardest first, each with the terms to use instead. */
export function rankSentences(sentences: readonly Sentence[]): { sentence: Sentence; terms: string[] }[] {
  return sentences.map((sentence) => ({ sentence, weight: weigh(sentence) })).filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ sentence }) => ({
      sentence,
      terms: PRIVATE_WORDS.filter(([pattern]) => pattern.test(sentence.text)).map(([, term]) => term),
    }));
}

function weigh({ text, words }: Sentence): number {
  const count = (pattern: RegExp) => text.match(asGlobal(pattern))?.length ?? 0;
  const privateWords = PRIVATE_WORDS.reduce((sum, [pattern]) => sum + count(pattern), 0);
  return 3 * count(PRONOUN_CLAUSE) + 2 * count(INDEFINITE) + 1.5 * privateWords + count(/\bwhat\b/gi) +
    (PRONOUN_START.test(text) ? 1.5 : 0) + Math.max(0, words - 30) / 8;
}

function countAll(sentences: readonly Sentence[], pattern: RegExp): number {
  return sentences.reduce((sum, { text }) => sum + (text.match(pattern)?.length ?? 0), 0);
}

function asGlobal(pattern: RegExp): RegExp {
  return pattern.global ? pattern : new RegExp(pattern.source, "gi");
}
