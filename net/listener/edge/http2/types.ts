import type { Connection } from "../../../connection/mod.ts";
import type { ListenerLimits } from "../../limits.ts";

/** A connection on which HTTP/2 is spoken. */
export interface Http2Connection {
  /** Whether exchanges run on it. */
  readonly isBusy: boolean;
  /** Resolves when it has ended: then it can be closed. */
  readonly ended: Promise<void>;
  /** Once a second: ends exchanges that a visitor neither goes on with nor takes. */
  check(limits: ListenerLimits): void;
  /** Tells the visitor that an idle connection ends, and ends it. */
  retire(): void;
}

/** Speaks HTTP/2 on connections that the edge has accepted, and whose limits the edge keeps. */
export interface Http2Front {
  /** @param moved told when an exchange begins or ends */
  carry(connection: Connection, remoteAddress: string, moved: () => void): Http2Connection;
  /** Tells visitors to open no more exchanges, and waits until those that run are done. */
  close(): Promise<void>;
  /** Ends everything now. */
  abort(): void;
}
