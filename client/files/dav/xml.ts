import { SaxesParser } from "saxes";
import { HttpError } from "../../../common/http_error.ts";

/** An element of a request's body. */
export interface XmlElement {
  /** Namespace URI; "" for none. */
  readonly namespace: string;
  readonly name: string;
  readonly attributes: readonly XmlAttribute[];
  readonly children: (XmlElement | string)[];
}

/** An attribute with its namespace, "" for none. */
export interface XmlAttribute {
  readonly namespace: string;
  readonly name: string;
  readonly value: string;
}

/** The namespace of WebDAV. */
export const DAV = "DAV:";
/** Bytes of a body, and how deep its elements may lie: every one of these bodies is a page at most. */
const MAX_BODY = 128 * 1024;
const MAX_DEPTH = 32;

/**
 * Reads the XML body of a request; null when there is none.
 * @throws HttpError 413 when it is too long, 400 when it is not well-formed
 */
export async function readXml(request: Request): Promise<XmlElement | null> {
  const bytes = await readBody(request);
  return bytes.length === 0 ? null : parseXml(bytes);
}

async function readBody(request: Request): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of request.body ?? []) {
    length += piece.length;
    if (length > MAX_BODY) {
      throw new HttpError(413, "body_too_long", "No property or lock needs a body as long as this.");
    }
    pieces.push(piece);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/**
 * Parses XML 1.0 with namespaces. A document type is refused, so there are no entities but the five of XML itself.
 * @throws HttpError 400
 */
export function parseXml(bytes: Uint8Array): XmlElement {
  try {
    return parseText(decode(bytes));
  } catch (cause) {
    throw new HttpError(400, "bad_xml", "The body is no XML that can be understood.", { cause });
  }
}

function decode(bytes: Uint8Array): string {
  const isLittle = bytes[0] === 0xff && bytes[1] === 0xfe;
  const isBig = bytes[0] === 0xfe && bytes[1] === 0xff;
  return new TextDecoder(isLittle ? "utf-16le" : isBig ? "utf-16be" : "utf-8", { fatal: true }).decode(bytes);
}

function parseText(text: string): XmlElement {
  const parser = new SaxesParser({ xmlns: true });
  const open: XmlElement[] = [];
  let root: XmlElement | null = null;
  parser.on("error", (error) => {
    throw error;
  });
  parser.on("doctype", () => {
    throw new SyntaxError("a document type is not taken");
  });
  parser.on("opentag", ({ uri, local, attributes }) => {
    const element = { namespace: uri, name: local, attributes: readAttributes(attributes), children: [] };
    open.at(-1)?.children.push(element);
    root ??= element;
    if (open.push(element) > MAX_DEPTH) throw new RangeError("the elements lie too deep");
  });
  parser.on("closetag", () => void open.pop());
  parser.on("text", (piece) => void open.at(-1)?.children.push(piece));
  parser.on("cdata", (piece) => void open.at(-1)?.children.push(piece));
  parser.write(text).close();
  if (root === null) throw new SyntaxError("there is no element");
  return root;
}

/** The attributes that belong to the content: declarations of namespaces are made anew when it is written. */
function readAttributes(attributes: Record<string, { uri: string; local: string; prefix: string; value: string }>) {
  return Object.values(attributes)
    .filter(({ prefix, local }) => prefix !== "xmlns" && !(prefix === "" && local === "xmlns"))
    .map(({ uri, local, value }): XmlAttribute => ({ namespace: uri, name: local, value }));
}

/** Writes an element so that it can stand inside any other: each name brings its namespace along. */
export function serializeXml({ namespace, name, attributes, children }: XmlElement): string {
  const tag = namespace === "" ? name : namespace === DAV ? `D:${name}` : `n:${name}`;
  const own = namespace === "" || namespace === DAV ? "" : ` xmlns:n="${escapeXml(namespace)}"`;
  const fields = attributes.map((attribute, index) => serializeAttribute(attribute, index)).join("");
  const content = children.map((child) => typeof child === "string" ? escapeXml(child) : serializeXml(child)).join("");
  return content === "" ? `<${tag}${own}${fields}/>` : `<${tag}${own}${fields}>${content}</${tag}>`;
}

const XML = "http://www.w3.org/XML/1998/namespace";

function serializeAttribute({ namespace, name, value }: XmlAttribute, index: number): string {
  if (namespace === "") return ` ${name}="${escapeXml(value)}"`;
  if (namespace === XML) return ` xml:${name}="${escapeXml(value)}"`;
  return ` xmlns:a${index}="${escapeXml(namespace)}" a${index}:${name}="${escapeXml(value)}"`;
}

/** Text made safe in XML, in content and in quoted attributes. What XML 1.0 has no way to write becomes a `?`. */
export function escapeXml(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.toWellFormed().replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "?")
    .replace(
      /[&<>"\r\n\t]/g,
      (char) =>
        char === "&"
          ? "&amp;"
          : char === "<"
          ? "&lt;"
          : char === ">"
          ? "&gt;"
          : char === '"'
          ? "&quot;"
          : `&#${char.charCodeAt(0)};`,
    );
}

/** The child elements. */
export function getElements({ children }: XmlElement): XmlElement[] {
  return children.filter((child): child is XmlElement => typeof child !== "string");
}

/** The first child of WebDAV's namespace with that name. */
export function findElement(parent: XmlElement, name: string): XmlElement | undefined {
  return getElements(parent).find((child) => isDav(child, name));
}

/** Whether an element is one of WebDAV's of that name. */
export function isDav({ namespace, name }: XmlElement, wanted: string): boolean {
  return namespace === DAV && name === wanted;
}

/** The text right inside an element. */
export function getText({ children }: XmlElement): string {
  return children.filter((child) => typeof child === "string").join("").trim();
}

/** Preconditions of RFC 4918 by error code, for all methods but those in {@link CONDITIONS_OF}. */
const CONDITIONS: Readonly<Record<string, string | undefined>> = {
  "propfind-finite-depth": "propfind-finite-depth",
  "locked": "lock-token-submitted",
  "no_such_lock": "lock-token-matches-request-uri",
};
const CONDITIONS_OF: Readonly<Record<string, string | undefined>> = { "LOCK locked": "no-conflicting-lock" };

/**
 * Returns the body of a failed WebDAV request (RFC 4918, section 16): a `DAV:error` element with the precondition, if
 * the RFC has one, and our code and message.
 * @param path escaped path of the request
 */
export function serializeError(method: string, path: string, { code, message }: HttpError): string {
  const condition = CONDITIONS_OF[`${method} ${code}`] ?? CONDITIONS[code];
  const href = code === "locked" ? `<D:href>${escapeXml(path)}</D:href>` : "";
  const element = condition === undefined
    ? ""
    : href === ""
    ? `<D:${condition}/>`
    : `<D:${condition}>${href}</D:${condition}>`;
  return `${XML_HEAD}<D:error xmlns:D="DAV:" xmlns:p="urn:portway:error">${element}<p:code>${
    escapeXml(code)
  }</p:code>` +
    `<p:message>${escapeXml(message)}</p:message></D:error>\n`;
}

/** A whole document around what is in it; `D` stands for WebDAV's namespace. */
export const XML_HEAD = '<?xml version="1.0" encoding="utf-8"?>\n';
