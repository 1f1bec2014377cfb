import type { OriginReader } from "../../../common/forwarded.ts";
import { HttpError } from "../../../common/http_error.ts";
import type { Exchange } from "../../../common/listener/mod.ts";
import { SUBPROTOCOL, TUNNEL_HEADER } from "../../../protocol/mod.ts";
import { noSuchTunnel } from "../errors.ts";
import type { EphemeralRegistry } from "../tunnel/ephemeral_registry.ts";
import type { Ephemeral } from "../tunnel/ephemeral.ts";
import { isSecretOf } from "../tunnel/secrets.ts";
import type { Sessions } from "./sessions.ts";

export interface HandshakeOptions {
  ephemerals: EphemeralRegistry;
  sessions: Sessions;
  readOrigin: OriginReader;
}

/**
 * Turns an owner's WebSocket handshake into the session that carries their tunnel.
 * @throws HttpError when it is none, or not theirs, or may not be opened now
 */
export async function openSession(exchange: Exchange, options: HandshakeOptions): Promise<void> {
  checkHandshake(exchange);
  const { ephemerals, sessions, readOrigin } = options;
  const id = exchange.header(TUNNEL_HEADER) ?? "";
  const tunnel = await findOwned(ephemerals, id, exchange);
  sessions.accept(exchange, tunnel.endpoint, { address: readOrigin(exchange).address, userId: null, tunnel: id });
}

/**
 * The ephemeral tunnel whose secret the request shows. An unknown one and a wrong secret answer alike.
 * @throws HttpError 401 without a secret, 404
 */
export async function findOwned(ephemerals: EphemeralRegistry, id: string, exchange: Exchange): Promise<Ephemeral> {
  const secret = readBearer(exchange);
  const tunnel = await ephemerals.findById(id);
  if (tunnel === null || !isSecretOf(tunnel.record.secretHash, secret)) throw noSuchTunnel();
  return tunnel;
}

function readBearer(exchange: Exchange): string {
  const secret = /^Bearer +([\w-]{1,128})$/i.exec(exchange.header("authorization") ?? "")?.[1];
  if (secret !== undefined) return secret;
  throw new HttpError(401, "unauthorized", "The tunnel's secret is wanted as a Bearer token.");
}

function checkHandshake(exchange: Exchange): void {
  if (!exchange.isWebSocket) {
    throw new HttpError(426, "upgrade_required", "A session is a WebSocket.", { headers: { upgrade: "websocket" } });
  }
  const offered = (exchange.header("sec-websocket-protocol") ?? "").split(",").map((name) => name.trim());
  if (offered.includes(SUBPROTOCOL)) return;
  throw new HttpError(
    426,
    "unsupported_version",
    `This server speaks ${SUBPROTOCOL}, the client ${offered.join(", ")}.`,
    {
      details: "Update whichever of the two is older.",
      headers: { "sec-websocket-protocol": SUBPROTOCOL },
    },
  );
}
