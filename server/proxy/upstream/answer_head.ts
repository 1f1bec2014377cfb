import { Buffer } from "node:buffer";
import { parseResponseHead, type ResponseHead } from "../../../common/http1/mod.ts";
import { ConnectionBroken, type TargetConnection } from "./target_connection.ts";

/** The target ended a connection without a byte of an answer. */
export class NoAnswer extends ConnectionBroken {
  override name = "NoAnswer";
}

/** A final head, and the fields in it. */
export interface AnswerHead {
  head: ResponseHead;
  statusText: string;
  headers: [string, string][];
  /** Milliseconds that the target says it keeps the connection for. */
  keepMs: number;
}

/** Callers are told a status, not answered with it, so whatever three digits a target has for one will do. */
const MAX_STATUS = 999;

/** Reads after which a head is no longer parsed again for each, only when a blank line has come. */
const EAGER_READS = 8;

/**
 * Reads the final head of an answer; those of 1xx before it are passed over. The connection's `start` is behind it then.
 * @throws NoAnswer, ConnectionBroken, ResponseSyntaxError
 */
export async function readAnswerHead(connection: TargetConnection, method: string): Promise<AnswerHead> {
  const answered = { method, upgrade: false, maxStatus: MAX_STATUS };
  for (let reads = 0;; reads++) {
    const size = connection.end - connection.start;
    const isOver = !await fill(connection);
    // A target that sends its head byte by byte must not have all of it parsed again for each.
    const came = connection.end - connection.start - size;
    if (!isOver && reads > EAGER_READS && !hasBlankLine(connection, came)) continue;
    for (let head = parse(); head !== null; head = parse()) {
      if (!head.informational) return takeHead(connection, head);
      connection.start = head.end;
    }
    if (isOver) throw new ConnectionBroken("the head was cut short");
  }

  function parse(): ResponseHead | null {
    return parseResponseHead(connection.buffer, connection.start, connection.end, answered);
  }
}

async function fill(connection: TargetConnection): Promise<boolean> {
  try {
    if (await connection.fill()) return true;
  } catch (cause) {
    throw connection.hasAnswered ? cause : new NoAnswer("no answer", { cause });
  }
  if (!connection.hasAnswered) throw new NoAnswer("no answer");
  return false;
}

/** Whether a line that ended in the last bytes that came is blank, or so many came that they are too many. */
function hasBlankLine({ buffer, start, end }: TargetConnection, came: number): boolean {
  const from = Math.max(start, end - came - 2);
  return Buffer.from(buffer.buffer, from, end - from).includes("\n\r\n", 0, "latin1") || end - start > 64 * 1024;
}

/** `HTTP/1.1 200 `, after which the reason phrase comes. */
const REASON_AT = 13;

function takeHead(connection: TargetConnection, head: ResponseHead): AnswerHead {
  const { buffer, start } = connection;
  const text = Buffer.from(buffer.buffer, start, head.fieldsEnd - start).toString("latin1");
  connection.start = head.end;
  const [statusLine, ...lines] = text.split("\r\n");
  const headers: [string, string][] = [];
  let keepMs = Infinity;
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).trim();
    headers.push([name, value]);
    if (colon === KEEP_ALIVE.length && name.toLowerCase() === KEEP_ALIVE) keepMs = readKeepMs(value);
  }
  return { head, statusText: statusLine.slice(REASON_AT), headers, keepMs };
}

const KEEP_ALIVE = "keep-alive";
/** The target may close a connection by its own clock while a request is on its way. */
const KEEP_MARGIN_MS = 1000;

function readKeepMs(value: string): number {
  const seconds = /\btimeout=(\d{1,9})\b/i.exec(value)?.[1];
  return seconds === undefined ? Infinity : Number(seconds) * 1000 - KEEP_MARGIN_MS;
}
