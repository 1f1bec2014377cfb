/** Returns the port for an http or https URL: 80 or 443 by default. */
export function portOf(url: URL): number {
  return Number(url.port) || (url.protocol === "https:" ? 443 : 80);
}
