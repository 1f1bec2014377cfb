import { DEFAULT_LIMITS } from "../../limits.ts";
import type { ExchangeHandler, ListenOptions } from "../../types.ts";
import { Http2Session, type SessionOptions } from "./session.ts";
import type { Http2Front } from "./types.ts";

/** HTTP/2 of our own, on the connections that the edge has accepted. */
export function openHttp2({ limits, traffic, log }: ListenOptions, handler: ExchangeHandler): Http2Front {
  const options: SessionOptions = { handler, limits: { ...DEFAULT_LIMITS, ...limits }, traffic: traffic ?? null, log };
  const sessions = new Set<Http2Session>();
  return {
    carry(connection, remoteAddress, moved) {
      const session = new Http2Session(connection, remoteAddress, options, moved);
      sessions.add(session);
      void session.ended.then(() => sessions.delete(session));
      void session.run();
      return session;
    },
    async close() {
      for (const session of sessions) session.retire();
      await Promise.all([...sessions].map(({ ended }) => ended));
    },
    abort() {
      for (const session of sessions) session.close();
    },
  };
}
