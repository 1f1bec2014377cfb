import { formatBytes } from "../../common/format.ts";
import { TunnelUnusable } from "./choose_tunnel.ts";
import type { Usage } from "./tunnels.ts";

/** From where on users are told. */
const LOW = 0.8;

/** `1.20 GB of 25.0 GB this month`. */
export function describeUsage({ bytes, bytesLimit }: Usage): string {
  const limit = bytesLimit === null ? "" : ` of ${formatBytes(bytesLimit)}`;
  return `${formatBytes(bytes)}${limit} this month`;
}

/** What the user should know when little is left of the month's traffic; null when enough is. */
export function warnOfUsage(usage: Usage): string | null {
  const { bytes, bytesLimit } = usage;
  if (bytesLimit === null || bytes < LOW * bytesLimit) return null;
  return `You have used ${Math.floor(bytes / bytesLimit * 100)} % of your traffic: ${describeUsage(usage)}.`;
}

/**
 * Refuses to begin with no traffic left.
 * @throws TunnelUnusable
 */
export function checkAllowance(usage: Usage): void {
  const { bytes, bytesLimit, resetsAt } = usage;
  if (bytesLimit === null || bytes < bytesLimit) return;
  const again = resetsAt === null ? "" : `; it starts again on ${resetsAt.slice(0, 10)}`;
  throw new TunnelUnusable(`your traffic is used up: ${describeUsage(usage)}${again}`);
}
