import type { Socket } from "node:net";
import { fromBytes, toBytes } from "./latin1.ts";
import type { RawResponse } from "./raw.ts";

/** A message's first line, its fields and its body, as they came. */
export interface RawMessage {
  startLine: string;
  fields: [name: string, value: string][];
  body: Uint8Array;
  /** Head and body, Latin-1. */
  raw: string;
}

/** Reads HTTP/1.1 messages from a connection, for tests: what it cannot understand is an error. */
export class HttpReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #bytes = "";
  #seen = "";

  constructor(socket: Socket) {
    this.#chunks = socket[Symbol.asyncIterator]();
  }

  /** What came so far, for error messages. */
  describe(): string {
    return `; there was: ${JSON.stringify(this.#seen.slice(0, 4000))}`;
  }

  async readResponse(forHead: boolean): Promise<RawResponse> {
    const head = await this.#readHead();
    if (head === null) throw new Error(`the connection ended before a response${this.describe()}`);
    const status = Number(head.startLine.split(" ")[1]);
    const isEmpty = forHead || status < 200 || status === 204 || status === 304;
    const body = isEmpty ? "" : await this.#readBody(head.fields, true);
    return {
      status,
      statusLine: head.startLine,
      fields: head.fields,
      body: toBytes(body),
      header: (name) => findField(head.fields, name),
    };
  }

  /** The next request, or null when the connection ended between two. */
  async readRequest(onHead?: (message: RawMessage) => void): Promise<RawMessage | null> {
    const before = this.#seen.length - this.#bytes.length;
    const head = await this.#readHead();
    if (head === null) return null;
    onHead?.({ ...head, body: new Uint8Array(), raw: "" });
    const body = await this.#readBody(head.fields, false);
    return { ...head, body: toBytes(body), raw: this.#seen.slice(before, this.#seen.length - this.#bytes.length) };
  }

  async readToEnd(): Promise<string> {
    while (await this.#more());
    const rest = this.#bytes;
    this.#bytes = "";
    return rest;
  }

  async #readHead(): Promise<{ startLine: string; fields: [string, string][] } | null> {
    const text = await this.#readThrough("\r\n\r\n");
    if (text === null) return null;
    const [startLine, ...lines] = text.slice(0, -4).split("\r\n");
    const fields = lines.map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, "")];
    });
    return { startLine, fields };
  }

  async #readBody(fields: [string, string][], toClose: boolean): Promise<string> {
    if (findField(fields, "transfer-encoding")?.toLowerCase() === "chunked") return await this.#readChunks();
    const length = findField(fields, "content-length");
    if (length !== undefined) return await this.#take(Number(length));
    return toClose ? await this.readToEnd() : "";
  }

  async #readChunks(): Promise<string> {
    let body = "";
    for (;;) {
      const size = parseInt(await this.#readThrough("\r\n") ?? "", 16);
      if (Number.isNaN(size)) throw new Error(`a chunk has no size${this.describe()}`);
      if (size === 0) {
        while (await this.#readThrough("\r\n") !== "\r\n");
        return body;
      }
      body += await this.#take(size);
      await this.#take(2);
    }
  }

  async #readThrough(end: string): Promise<string | null> {
    for (;;) {
      const at = this.#bytes.indexOf(end);
      if (at >= 0) return await this.#take(at + end.length);
      if (await this.#more()) continue;
      if (this.#bytes === "") return null;
      throw new Error(`the connection ended in the middle of a message${this.describe()}`);
    }
  }

  async #take(count: number): Promise<string> {
    while (this.#bytes.length < count) {
      if (!await this.#more()) throw new Error(`the connection ended in the middle of a body${this.describe()}`);
    }
    const taken = this.#bytes.slice(0, count);
    this.#bytes = this.#bytes.slice(count);
    return taken;
  }

  /** A broken connection counts as an ended one: what matters is what came before. */
  async #more(): Promise<boolean> {
    const { done, value } = await this.#chunks.next().catch(() => ({ done: true, value: undefined }));
    if (done || value === undefined) return false;
    const text = fromBytes(value);
    this.#bytes += text;
    this.#seen += text;
    return true;
  }
}

function findField(fields: [string, string][], name: string): string | undefined {
  return fields.find(([field]) => field.toLowerCase() === name)?.[1];
}
