import { bareHostname } from "../../common/bare_hostname.ts";
import { isLoopbackAddress } from "../../common/loopback.ts";
import { portOf } from "../../common/url_port.ts";
import type { ServerConfig } from "../config.ts";
import { createOwnAddressCheck, type GuardOptions } from "../guard/mod.ts";

/** The facts by which a server recognises its own addresses. */
export interface KnowOwnOptions {
  config: Pick<ServerConfig, "trustedProxies">;
  /** The server's public URL. */
  url: URL;
  /** The port that it listens on. */
  port: number;
  /** Whether a host name belongs to this server's tunnels. */
  isTunnelHost: (hostname: string) => boolean;
}

/** Returns the checks by which a guard refuses requests to this server itself. */
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
      // A reverse proxy serves other hosts at that address too, so only the host name counts.
      outside: config.trustedProxies.length > 0 ? undefined : { hostname: bareHostname(url.hostname), port: ownPort },
    }),
  };
}
