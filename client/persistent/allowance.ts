import { formatBytes } from "../../common/format.ts";
import { TunnelUnusable } from "./choose_tunnel.ts";
import type { MonthUsage } from "./tunnels.ts";

/** Returns a text such as `1.20 GB of 25.0 GB this month`. */
export function describeUsage({ bytes, bytesLimit }: MonthUsage): string {
  const limit = bytesLimit === null ? "" : ` of ${formatBytes(bytesLimit)}`;
  return `${formatBytes(bytes)}${limit} this month`;
}

/**
 * Checks that traffic is left.
 * @throws TunnelUnusable
 */
export function checkAllowance(usage: MonthUsage): void {
  const { bytes, bytesLimit, resetsAt } = usage;
  if (bytesLimit === null || bytes < bytesLimit) return;
  const again = resetsAt === null ? "" : `; it starts again on ${resetsAt.slice(0, 10)}`;
  throw new TunnelUnusable(`your traffic is used up: ${describeUsage(usage)}${again}`);
}
