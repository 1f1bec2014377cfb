/** Ports in a form's list. Longer lists should be "all". */
const MAX_PORTS = 100;

/** Parses ports such as `3000, 8080-8083`. @returns the ports without duplicates, or the problem */
export function parsePorts(text: string): number[] | string {
  const ports = new Set<number>();
  const items = text.split(/[\s,;]+/).filter((item) => item !== "");
  if (items.length === 0) return "Name at least one port, or allow all.";
  for (const item of items) {
    const range = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(item);
    const first = Number(range?.[1]), last = Number(range?.[2] ?? range?.[1]);
    if (range === null || first < 1 || last > 65535 || last < first) {
      return `"${item.slice(0, 20)}" is no port: numbers from 1 to 65535 are, and ranges such as 8080-8083.`;
    }
    if (last - first >= MAX_PORTS || ports.size + last - first >= MAX_PORTS) {
      return `These are more than ${MAX_PORTS} ports. Allow all instead.`;
    }
    for (let port = first; port <= last; port++) ports.add(port);
  }
  return [...ports].sort((a, b) => a - b);
}

/** Formats ports for {@link parsePorts}, with ranges. */
export function formatPorts(ports: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const port of ports.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && port === last[1] + 1) last[1] = port;
    else ranges.push([port, port]);
  }
  return ranges.map(([first, last]) => first === last ? String(first) : `${first}-${last}`).join(", ");
}
