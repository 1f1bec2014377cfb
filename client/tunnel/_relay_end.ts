import type { Connection } from "../../net/connection/mod.ts";
import {
  type HeadWriter,
  Mux,
  Opening,
  type RequestStream,
  type StreamHandler,
  type StreamOpening,
} from "../../protocol/mod.ts";
import { readRequestHead } from "./session.ts";
import { encodeLatin1, RequestHead } from "../../net/http1/mod.ts";
import type { Target } from "./target.ts";

/** A visitor's view during its exchange. */
export interface Visit {
  stream: RequestStream;
  status: number;
  /** Reason phrase, CRLF, field lines. */
  head: string;
  /** One character per byte. */
  body: string;
  /** `open`, `end` or `reset <reason>: <text>`. */
  state: string;
  /** Interim responses: status and block. */
  interims: string[];
  trailers: string;
  /** Body bytes so far, including those not kept in `body`. */
  size: number;
  /** Resolves when `state` is no longer `open`, or a condition holds. */
  until(condition?: (visit: Visit) => boolean): Promise<Visit>;
}

/** A target behind a session in memory. */
export interface RelayEnd {
  relay: Mux;
  client: Mux;
  /** Sends a request. */
  visit(head: string, opening?: StreamOpening, keepBody?: boolean): Visit;
}

/** Creates the relay's end in a session with a client that serves `target`, without a socket. */
export function createRelayEnd(target: Target): RelayEnd {
  const fail = (side: string) => (_reason: number, text: string) => {
    if (text !== "done") throw new Error(`the ${side} ended: ${text}`);
  };
  const head = new RequestHead();
  const relay: Mux = new Mux({
    maxStreams: 100,
    maxUpgrades: 100,
    transport: { send: (buffer, start, end) => void client.receive(buffer.slice(start, end), 0, end - start) },
    onEnd: fail("relay"),
  });
  const client: Mux = new Mux({
    maxStreams: 100,
    maxUpgrades: 100,
    transport: { send: (buffer, start, end) => void relay.receive(buffer.slice(start, end), 0, end - start) },
    onEnd: fail("client"),
    onOpen(stream, frame, start, end, { kind, end: bodyless }) {
      if (kind === "raw") return target.accept!(stream, frame.subarray(start, end));
      readRequestHead(head, frame, start, end);
      const handler = target.handle({ stream, head, bodyless, upgrade: kind === "upgrade" });
      // A real session reuses this buffer for the next frame.
      frame.fill(0xee, start, end);
      return handler;
    },
  });
  return {
    relay,
    client,
    visit: (head, opening = Opening.bodyless, keepBody = true) => visit(relay, head, opening, keepBody),
  };
}

function decodeLatin1(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

function visit(relay: Mux, head: string, opening: StreamOpening, keepBody: boolean): Visit {
  const waiting: (() => void)[] = [];
  const wake = () => waiting.splice(0).forEach((resolve) => resolve());
  const take = (bytes: Uint8Array) => {
    result.size += bytes.length;
    if (keepBody) result.body += decodeLatin1(bytes);
    result.stream.consumed(bytes.length);
    wake();
  };
  const handler: StreamHandler = {
    onResponse(status, frame, headStart, headEnd, payloadEnd, end) {
      result.status = status;
      result.head = String.fromCharCode(...frame.subarray(headStart, headEnd));
      if (end) result.state = "end";
      take(frame.subarray(headEnd, payloadEnd));
    },
    onData(piece, end) {
      if (end) result.state = "end";
      take(piece);
    },
    onInterim(status, frame, start, end) {
      result.interims.push(`${status} ${String.fromCharCode(...frame.subarray(start, end))}`);
      wake();
    },
    onTrailers(frame, start, end) {
      result.trailers = String.fromCharCode(...frame.subarray(start, end));
      result.state = "end";
      wake();
    },
    onReset(reason, text) {
      if (result.state === "open") result.state = `reset ${reason}: ${text}`;
      wake();
    },
  };
  const result: Visit = {
    stream: relay.open(opening, writeText(head), handler)!,
    status: 0,
    head: "",
    body: "",
    state: "open",
    interims: [],
    trailers: "",
    size: 0,
    async until(condition = ({ state }) => state !== "open") {
      while (!condition(result)) await new Promise<void>((resolve) => waiting.push(resolve));
      return result;
    },
  };
  return result;
}

/** Returns the bytes in a granted upgrade as a connection. */
export function connectionOf(visit: Visit): Connection {
  let taken = 0;
  return {
    async read(into) {
      await visit.until(({ body, state }) => body.length > taken || state !== "open");
      const count = Math.min(into.length, visit.body.length - taken);
      for (let index = 0; index < count; index++) into[index] = visit.body.charCodeAt(taken + index);
      taken += count;
      return count === 0 ? null : count;
    },
    write: (bytes) => visit.stream.write(bytes),
    closeWrite: () => Promise.resolve(visit.stream.end()),
    close: () => visit.stream.end(),
  };
}

function writeText(text: string): HeadWriter {
  const bytes = encodeLatin1(text);
  return { headSize: bytes.length, writeHead: (into, at) => (into.set(bytes, at), at + bytes.length) };
}
