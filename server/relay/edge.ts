import type { Origin, OriginReader } from "../../common/forwarded.ts";
import { errorResponse, type HttpError } from "../../common/http_error.ts";
import type { Exchange } from "../../common/listener/mod.ts";
import { headTooLarge, noSuchTunnel, serverRestarting, tooManyStreams, tunnelOffline } from "./errors.ts";
import { buildRequestHead } from "./request_head.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import type { Tunnel } from "./tunnel.ts";
import type { Tunnels } from "./tunnels.ts";
import { Visitor } from "./visitor.ts";
import { WebSocketVisitor } from "./visitor_websocket.ts";

export interface EdgeOptions {
  tunnels: Tunnels;
  sessions: Pick<Sessions, "draining">;
  readOrigin: OriginReader;
  /** Bytes of a request's head. */
  maxHeadBytes: number;
  /** How long a visitor waits for a client that has just dropped off. */
  holdMs: number;
}

/** Answers visitors of tunnels: HTTP, streams and WebSockets pass the same gates, here and nowhere else. */
export type Edge = (exchange: Exchange, label: string) => Response | Promise<Response>;

export function createEdge({ tunnels, sessions, readOrigin, maxHeadBytes, holdMs }: EdgeOptions): Edge {
  const refuse = (exchange: Exchange, error: HttpError) => errorResponse(error, exchange.header("accept"));

  async function visitStored(exchange: Exchange, label: string): Promise<Response> {
    const tunnel = await tunnels.findByLabel(label);
    return tunnel === null ? refuse(exchange, noSuchTunnel()) : await visit(exchange, tunnel);
  }

  function visit(exchange: Exchange, tunnel: Tunnel): Response | Promise<Response> {
    const fault = tunnel.gate();
    if (fault !== null) return refuse(exchange, fault);
    const { session } = tunnel;
    return session === null ? visitHeld(exchange, tunnel) : carry(exchange, tunnel, session);
  }

  async function visitHeld(exchange: Exchange, tunnel: Tunnel): Promise<Response> {
    const session = await tunnel.whenSession(holdMs);
    const fault = session === null ? tunnelOffline() : tunnel.gate();
    if (session === null || fault !== null) return refuse(exchange, fault ?? tunnelOffline());
    return await carry(exchange, tunnel, session);
  }

  function carry(exchange: Exchange, tunnel: Tunnel, session: Session): Response | Promise<Response> {
    const { isWebSocket } = exchange;
    const origin: Origin = readOrigin(exchange);
    const head = buildRequestHead(exchange, origin, isWebSocket);
    if (measureHead(head, exchange.target) > maxHeadBytes) return refuse(exchange, headTooLarge());
    const visitor = isWebSocket
      ? new WebSocketVisitor(exchange, tunnel, tunnel.messageQueue)
      : new Visitor(exchange, tunnel);
    const flags = { end: !isWebSocket && !exchange.hasBody, webSocket: isWebSocket };
    const stream = session.mux.open(head, flags, visitor);
    if (stream === null) return refuse(exchange, session.mux.over ? tunnelOffline() : tooManyStreams());
    tunnel.meter(head.length);
    visitor.start(stream);
    return visitor.response;
  }

  return (exchange, label) => {
    if (sessions.draining) return refuse(exchange, serverRestarting());
    const known = tunnels.getByLabel(label);
    return known === undefined ? visitStored(exchange, label) : visit(exchange, known);
  };
}

/** Bytes of a head on the wire, where the target travels in UTF-8 and every other character is one byte. */
function measureHead(head: string, target: string): number {
  return IS_ASCII.test(target) ? head.length : head.length - target.length + ENCODER.encode(target).length;
}

const IS_ASCII = /^[ -~]*$/;
const ENCODER = new TextEncoder();
