import { openConnector } from "../../net/connection/mod.ts";
import type { Logger } from "../../common/log.ts";
import type { Note } from "./expose.ts";
import { logConnect } from "../log_connect.ts";
import { createUpstream, type PublicPorts, type Target } from "../tunnel/mod.ts";

/** Options for a local service as a tunnel's target. */
export interface LocalServiceOptions {
  url: URL;
  /** The Host that the service receives, `public` for the visitor's; null for its own. */
  hostHeader: string | null;
  /** Local ports whose links become public in responses; null leaves them. */
  rewrite: PublicPorts | null;
  note: Note;
  log: Logger;
}

/** Creates a target for a local service and reports its state to the user. */
export function openLocalService({ url, hostHeader, rewrite, note, log }: LocalServiceOptions): Target {
  return createUpstream({
    url,
    // Connects directly, even if a proxy is configured for the server.
    connect: logConnect(openConnector(), "service", log),
    hostHeader: hostHeader === "public" ? null : hostHeader ?? url.host,
    rewrite,
    onReachable: (reachable, reason) =>
      note(reachable ? `${url.origin} responds now.` : `Visitors get 502 until ${url.origin} runs: ${reason}`),
    onTls: () => note(`${url.origin} speaks HTTPS. Stop this tunnel and use -e https://${url.host}`),
  });
}
