/** The port that a URL of http or https leads to: 80 or 443 where it names none. */
export function portOf(url: URL): number {
  return Number(url.port) || (url.protocol === "https:" ? 443 : 80);
}
