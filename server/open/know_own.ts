import { bareHostname } from "../../common/bare_hostname.ts";
import { isLoopbackAddress } from "../../common/loopback.ts";
import { portOf } from "../../common/url_port.ts";
import type { ServerConfig } from "../config.ts";
import { createOwnAddressCheck, type GuardOptions } from "../guard/mod.ts";

/** By what a server knows that a request would lead back to it. */
export interface KnowOwnOptions {
  config: Pick<ServerConfig, "trustedProxies">;
  /** Where this server is reached. */
  url: URL;
  /** The port it listens on. */
  port: number;
  /** Whether a host name is one of this server's tunnels. */
  isTunnelHost: (hostname: string) => boolean;
}

/** What tells a guard that a request would lead back to this very server. */
export function knowOwn(
  { config, url, port, isTunnelHost }: KnowOwnOptions,
): Required<Pick<GuardOptions, "isOwnHost" | "isOwnAddress">> {
  const ownPort = portOf(url);
  return {
    isOwnHost: (hostname, otherPort) =>
      isTunnelHost(hostname) || hostname === url.hostname.toLowerCase() && otherPort === ownPort ||
      otherPort === port && isLoopbackAddress(hostname),
    isOwnAddress: createOwnAddressCheck({
      port,
      // A reverse proxy serves other hosts at that address too, which are told from ours by their names.
      outside: config.trustedProxies.length > 0 ? undefined : { hostname: bareHostname(url.hostname), port: ownPort },
    }),
  };
}
