import { openConnector } from "../../net/connection/mod.ts";
import type { Logger } from "../../common/log.ts";
import type { Note } from "./expose.ts";
import { logConnect } from "../log_connect.ts";
import { createUpstream, type PublicPorts, type Target } from "../tunnel/mod.ts";

/** The service that a tunnel leads to, and what is changed on the way to it and back. */
export interface LocalServiceOptions {
  url: URL;
  /** The Host that it sees, `public` for the one that visitors ask for; null for its own. */
  hostHeader: string | null;
  /** The public hosts that links to this machine become in what it answers; null to leave them. */
  rewrite: PublicPorts | null;
  note: Note;
  log: Logger;
}

/** A service of this machine as what a tunnel leads to, whose state its user is told. */
export function openLocalService({ url, hostHeader, rewrite, note, log }: LocalServiceOptions): Target {
  return createUpstream({
    url,
    // Straight to it, whatever proxy stands between this machine and the server.
    connect: logConnect(openConnector(), "service", log),
    hostHeader: hostHeader === "public" ? null : hostHeader ?? url.host,
    rewrite,
    onReachable: (reachable, reason) =>
      note(reachable ? `${url.origin} answers now.` : `Visitors get 502 until ${url.origin} runs: ${reason}`),
    onTls: () => note(`${url.origin} speaks HTTPS. Stop this tunnel and use -e https://${url.host}`),
  });
}
