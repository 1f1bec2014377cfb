import type { OriginReader } from "../../../net/forwarded.ts";
import { HttpError } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import { NoticeCode, PORT_HEADER, SUBPROTOCOL, TUNNEL_HEADER } from "../../../protocol/mod.ts";
import { type Authenticate, requireScope } from "../../access/mod.ts";
import type { AccountUser, PersistentTunnels } from "../../store/mod.ts";
import { noSuchTunnel, planRequired } from "../errors.ts";
import type { Allowance } from "../tunnel/allowance.ts";
import type { Ephemeral } from "../tunnel/ephemeral.ts";
import type { EphemeralRegistry } from "../tunnel/ephemeral_registry.ts";
import type { Persistent } from "../tunnel/persistent.ts";
import type { PersistentRegistry } from "../tunnel/persistent_registry.ts";
import { isSecretOf } from "../tunnel/secrets.ts";
import type { Sessions } from "./sessions.ts";

/** Relay parts that a handshake uses. */
export interface HandshakeOptions {
  ephemerals: EphemeralRegistry;
  persistents: PersistentRegistry;
  store: Pick<PersistentTunnels, "update">;
  sessions: Sessions;
  authenticate: Authenticate;
  readOrigin: OriginReader;
}

/**
 * Turns an owner's WebSocket handshake into the session that carries the tunnel, or one port.
 * @throws HttpError for a malformed handshake, a wrong secret or token, and a closed tunnel
 */
export async function acceptSession(exchange: Exchange, options: HandshakeOptions): Promise<void> {
  checkHandshake(exchange);
  if (exchange.header("authorization") === null) throw secretWanted();
  const { ephemerals, persistents, sessions, readOrigin } = options;
  const id = exchange.header(TUNNEL_HEADER) ?? "";
  const ephemeral = await ephemerals.findById(id);
  const persistent = ephemeral === null ? await persistents.findById(id) : null;
  if (persistent !== null) return await openPersistent(exchange, persistent, options);
  const { endpoint } = checkSecret(ephemeral, exchange);
  sessions.accept(exchange, endpoint, { address: readOrigin(exchange).address, user: null, tunnel: id });
}

/** Opens a session for a persistent tunnel. Another account's client gets `tunnel_not_found`. */
async function openPersistent(exchange: Exchange, tunnel: Persistent, options: HandshakeOptions): Promise<void> {
  const { account, user, login = null } = requireScope(await options.authenticate(exchange), "tunnels:use");
  const { record } = tunnel;
  if (account.id !== record.accountId) throw noSuchTunnel();
  if (account.plan !== "paid") throw planRequired();
  const port = readPort(exchange) ?? record.defaultPort;
  const carrier = { accountId: account.id, userId: user.id };
  const allowance = await options.persistents.findAllowance(carrier);
  const endpoint = tunnel.endpointOf(port);
  const closure = endpoint.findClosure(allowance);
  if (closure !== null) throw closure.refuse();
  await assign(tunnel, carrier, allowance, options);
  const address = options.readOrigin(exchange).address;
  const session = options.sessions.accept(exchange, endpoint, {
    address,
    user: { ...carrier, login },
    tunnel: record.id,
  });
  if (allowance.isLow) session.notify(NoticeCode.allowanceLow, describeUse(allowance));
}

/** Counts the tunnel on the allowance that its present user has. */
async function assign(
  tunnel: Persistent,
  { userId }: AccountUser,
  allowance: Allowance,
  { store }: HandshakeOptions,
): Promise<void> {
  if (tunnel.record.userId === userId) return;
  const record = await store.update(tunnel.record.id, { userId });
  if (record === null) throw noSuchTunnel();
  tunnel.record = record;
  tunnel.allowance = allowance;
}

/** Describes an allowance's used part for its user. */
export function describeUse({ used, limit }: Allowance): string {
  return `${Math.min(100, Math.floor(used / limit * 100))} % of this month's traffic is used`;
}

/**
 * Returns the ephemeral tunnel if the request shows its secret. An unknown tunnel and a wrong secret get the same error.
 * @throws HttpError 401 without a secret, 404
 */
export function checkSecret(tunnel: Ephemeral | null, exchange: Exchange): Ephemeral {
  const bearer = /^Bearer +(\S+)$/i.exec(exchange.header("authorization") ?? "")?.[1];
  if (bearer === undefined) throw secretWanted();
  if (tunnel === null || !isSecretOf(tunnel.record.secretHash, bearer)) throw noSuchTunnel();
  return tunnel;
}

const secretWanted = (): HttpError =>
  new HttpError(401, "unauthorized", "This request needs the tunnel's secret or an access token as a Bearer token.");

function readPort(exchange: Exchange): number | null {
  const text = exchange.header(PORT_HEADER);
  if (text === null) return null;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65535) return port;
  throw new HttpError(400, "bad_request", "Portway-Port must be a port, from 1 to 65535.");
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
      details: "Update the older one.",
      headers: { "sec-websocket-protocol": SUBPROTOCOL },
    },
  );
}
