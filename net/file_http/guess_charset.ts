import chardet from "chardet";

/** The least confidence for a guess, in percent. Wrong guesses about short texts have less than 15. */
const MIN_CONFIDENCE = 50;
/** A charset that the text declares itself: HTML, XML, or a style sheet. */
const DECLARATION = /<meta[^>]+charset|<\?xml[^>]+encoding|@charset/i;

/**
 * Returns the charset that a text probably has if it is not Unicode. Returns null if no charset is likely, or if the
 * text declares one, because the declaration knows better than a guess.
 * @param sample the beginning of the text
 */
export function guessCharset(sample: Uint8Array): string | null {
  if (DECLARATION.test(new TextDecoder("latin1").decode(sample))) return null;
  const [best] = chardet.analyse(sample);
  if (best === undefined || best.confidence < MIN_CONFIDENCE) return null;
  try {
    // The label that browsers know: some guesses have none.
    return new TextDecoder(best.name).encoding;
  } catch {
    return null;
  }
}
