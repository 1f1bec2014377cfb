import type { Links } from "./links.ts";

/** Matches a source in a Content-Security-Policy that names the local host with any scheme, host and port. */
const SOURCE =
  /(^|[\s;,])((?:https?|wss?):\/\/)?(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::(\d{1,5}|\*))?(?=[\s;,/]|$)/gi;

/**
 * Returns a Content-Security-Policy in which the local host is public. A source for any port becomes one source per
 * known port.
 */
export function rewritePolicy(policy: string, links: Links): string {
  return policy.replace(SOURCE, (whole: string, before: string, prefix: string = "", _host: string, port = "") => {
    const scheme = prefix.toLowerCase().replace("://", "");
    const numbers = port === "*" ? links.knownPorts : [port === "" ? links.defaultPort(scheme) : Number(port)];
    const hosts = numbers.map((number) => links.hostOf(number)).filter((host) => host !== null);
    if (hosts.length === 0) return whole;
    const publicPrefix = scheme === "" ? "" : `${links.toPublicScheme(scheme)}://`;
    return before + hosts.map((host) => publicPrefix + host).join(" ");
  });
}
