import { Buffer } from "node:buffer";
import { decodeBeginning, parseEncodings } from "../../../net/body/content_encoding.ts";
import type { OpenedCapture } from "../../store/mod.ts";

/** Decoded bytes that a search reads. */
const MAX_DECODED = 512 * 1024;

/**
 * Returns the texts to search, in lower case. These are the bytes as received, one character per byte, and the forms
 * that pages show: percent-decoded paths and form values, JSON without escapes, and decompressed bodies in their
 * declared charset.
 */
export async function readSearchableTexts(capture: OpenedCapture): Promise<string[]> {
  const { method, path, headers, body } = capture;
  const head = [method, path, ...joinPairs(headers)].join("\n");
  const sent = [head, latin1(body)];
  const shown = [Buffer.from(head, "latin1").toString(), decodePercent(path)];
  const plain = await decodeBody(capture);
  if (plain.length > 0) {
    const text = decodeCharset(plain, capture.contentType);
    shown.push(text);
    if (text.includes("\\")) shown.push(decodeJsonEscapes(text));
    if (/[%+]/.test(text)) shown.push(decodePercent(text));
  }
  return [...sent, ...shown].map((text) => text.toLowerCase());
}

/** Decompresses the body's beginning. Corrupt data is returned as received. */
async function decodeBody({ headers, body }: OpenedCapture): Promise<Uint8Array> {
  const fields = headers.filter((_, at) => at % 2 === 1 && headers[at - 1].toLowerCase() === "content-encoding");
  const codings = parseEncodings(fields);
  if (codings === null || codings.length === 0 || body.length === 0) return body;
  return (await decodeBeginning(body, codings, MAX_DECODED))?.bytes ?? body;
}

/** Decodes bytes in the charset from the Content-Type, by default UTF-8. */
function decodeCharset(bytes: Uint8Array, contentType: string | null): string {
  const label = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType ?? "")?.[1] ?? "utf-8";
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    // The charset is unknown.
    return new TextDecoder().decode(bytes);
  }
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f" };

/** Replaces all JSON string escapes. */
function decodeJsonEscapes(text: string): string {
  return text.replace(
    /\\(?:u([0-9a-f]{4})|(["\\/bfnrt]))/gi,
    (_, code: string | undefined, char: string) =>
      code === undefined ? ESCAPES[char] ?? char : String.fromCharCode(parseInt(code, 16)),
  );
}

/** Replaces `+` and percent-encoded UTF-8. Malformed sequences stay. */
function decodePercent(text: string): string {
  return text.replaceAll("+", " ").replace(
    /(?:%[0-9a-f]{2})+/gi,
    (run) => Buffer.from(run.replaceAll("%", ""), "hex").toString(),
  );
}

function joinPairs(headers: readonly string[]): string[] {
  return headers.flatMap((name, index) => index % 2 === 0 ? [`${name}: ${headers[index + 1]}`] : []);
}

const latin1 = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString("latin1");
