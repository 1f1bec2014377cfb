import type { Links } from "./links.ts";

/** A source of a Content-Security-Policy that names the local host: its scheme, host and port, which may be any. */
const SOURCE =
  /(^|[\s;,])((?:https?|wss?):\/\/)?(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::(\d{1,5}|\*))?(?=[\s;,/]|$)/gi;

/**
 * A Content-Security-Policy in which the local host is public. A source for any port becomes one for each that is known
 * by its number.
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
