/** Generates docs/reference/errors.md from the error codes in the source and the texts beside them. */
import { loadSources } from "./check_imports.ts";
import { ERROR_TEXTS } from "./error_texts.ts";

export const ERRORS_FILE = new URL("../docs/reference/errors.md", import.meta.url);

const THROWN = /new HttpError\(\s*(\d{3}),\s*"([a-z_]+)"/g;
const PRODUCT = /^(?:server|client|common|net|protocol|web)\/(?!.*_(?:test|kit)\.)/;

/** Returns the statuses per code in the program's source. */
export function findErrorCodes(files: ReadonlyMap<string, string>): Map<string, Set<number>> {
  const codes = new Map<string, Set<number>>();
  for (const [file, text] of files) {
    if (!PRODUCT.test(file)) continue;
    for (const [, status, code] of text.matchAll(THROWN)) {
      const statuses = codes.get(code) ?? new Set();
      codes.set(code, statuses.add(Number(status)));
    }
  }
  return codes;
}

/**
 * Returns the text of docs/reference/errors.md.
 * @throws Error when a code in the source has no text, or a text has no code in the source
 */
export function renderErrors(
  files: ReadonlyMap<string, string> = loadSources(new URL("..", import.meta.url).pathname),
): string {
  const codes = findErrorCodes(files);
  const described = new Set(ERROR_TEXTS.flatMap(([, texts]) => texts.map(([code]) => code)));
  const missing = [...codes.keys()].filter((code) => !described.has(code)).sort();
  if (missing.length > 0) throw new Error(`cannot write the error reference: no text for ${missing.join(", ")}`);
  const sources = [...files].filter(([file]) => PRODUCT.test(file)).map(([, text]) => text).join("\n");
  const unused = [...described].filter((code) => !codes.has(code) && !sources.includes(`"${code}"`));
  if (unused.length > 0) throw new Error(`cannot write the error reference: no source for ${unused.join(", ")}`);
  const sections = ERROR_TEXTS.map(([heading, texts]) =>
    `## ${heading}\n\n${
      texts.map(([code, cause, remedy]) => {
        const statuses = [...codes.get(code) ?? []].sort().join(", ");
        return `### ${code}\n\n${statuses === "" ? "" : `Status ${statuses}. `}${cause}\n\nRemedy: ${remedy}`;
      }).join("\n\n")
    }`
  );
  return `${INTRODUCTION}\n\n${sections.join("\n\n")}\n`;
}

const INTRODUCTION = `# Errors

Each error response has a status and a stable code, in the header \`portway-error\` and in the body. Programs should
branch on the code, because messages can change. \`deno task docs\` generates this page.`;
