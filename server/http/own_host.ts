/** Reports whether a Host field names the host of a URL, regardless of port and case. */
export function isHostOf(host: string, { hostname }: URL): boolean {
  const colon = host.lastIndexOf(":");
  const name = colon > host.lastIndexOf("]") ? host.slice(0, colon) : host;
  return (name.endsWith(".") ? name.slice(0, -1) : name).toLowerCase() === hostname;
}
