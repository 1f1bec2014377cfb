import { setImmediate } from "node:timers";
import { Mux, type MuxStream, type RequestFlags, type StreamHandler } from "../../protocol/mod.ts";
import { scanRequestHead } from "./request_head.ts";
import type { Target } from "./target.ts";

/** What a visitor of a target has got so far. */
export interface Visit {
  stream: MuxStream;
  status: number;
  head: string;
  /** One character a byte. */
  body: string;
  /** `open`, `end`, `reset <reason>: <text>` or `close <code> <reason>`. */
  state: string;
  messages: (string | Uint8Array)[];
  /** Body bytes seen, also those not kept in `body`. */
  size: number;
  /** Resolves when `state` is not `open` any more, or a condition holds. */
  until(condition?: (visit: Visit) => boolean): Promise<Visit>;
}

/** A target behind a session in memory: visitors ask here, the target answers there. */
export interface RelayEnd {
  relay: Mux;
  client: Mux;
  /** Sends a request; `body` stays open when it is null. */
  visit(head: string, flags?: Partial<RequestFlags>, keepBody?: boolean): Visit;
}

export function createRelayEnd(target: Target): RelayEnd {
  const fail = (side: string) => (_reason: number, text: string) => {
    if (text !== "done") throw new Error(`the ${side} ended: ${text}`);
  };
  const relay: Mux = new Mux({
    maxStreams: 100,
    transport: { send: (buffer, start, end) => client.receive(buffer.slice(start, end)) },
    onEnd: fail("relay"),
  });
  const client: Mux = new Mux({
    maxStreams: 100,
    transport: { send: (buffer, start, end) => relay.receive(buffer.slice(start, end)) },
    onEnd: fail("client"),
    onRequest(stream, frame, start, end, flags) {
      const head = scanRequestHead(frame, start, end);
      return target.handle({ stream, head, frame, start, end, bodyless: flags.end, webSocket: flags.webSocket });
    },
  });
  return { relay, client, visit: (head, flags = {}, keepBody = true) => visit(relay, head, flags, keepBody) };
}

function visit(relay: Mux, head: string, flags: Partial<RequestFlags>, keepBody: boolean): Visit {
  const waiting: (() => void)[] = [];
  const wake = () => waiting.splice(0).forEach((resolve) => resolve());
  const parts: Uint8Array[] = [];
  const take = (bytes: Uint8Array) => {
    result.size += bytes.length;
    if (keepBody) result.body += String.fromCharCode(...bytes);
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
    onMessage(piece, text, more) {
      parts.push(piece);
      result.stream.consumed(piece.length);
      if (more) return;
      const whole = Uint8Array.from(parts.splice(0).flatMap((part) => [...part]));
      result.messages.push(text ? new TextDecoder().decode(whole) : whole);
      wake();
    },
    onClose(code, reason) {
      result.state = `close ${code} ${reason}`;
      wake();
    },
    onReset(reason, text) {
      if (result.state === "open") result.state = `reset ${reason}: ${text}`;
      wake();
    },
  };
  const result: Visit = {
    stream: relay.open(head, { end: true, webSocket: false, ...flags }, handler)!,
    status: 0,
    head: "",
    body: "",
    state: "open",
    messages: [],
    size: 0,
    async until(condition = ({ state }) => state !== "open") {
      while (!condition(result)) await new Promise<void>((resolve) => waiting.push(resolve));
      return result;
    },
  };
  return result;
}

/** Resolves when all that is due now has been done. */
export async function settle(): Promise<void> {
  for (let count = 0; count < 10; count++) await new Promise((resolve) => setImmediate(resolve));
}
