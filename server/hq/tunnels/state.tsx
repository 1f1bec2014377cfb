import { Badge, type Html } from "../ui/mod.ts";
import type { TunnelInfo } from "../../relay/mod.ts";

/** What a tunnel is doing, in a word. */
export function TunnelState({ tunnel: { enabled, suspended, live } }: { tunnel: TunnelInfo }): Html {
  if (suspended) return <Badge tone="bad" dot>Suspended</Badge>;
  if (!enabled) return <Badge tone="warn" dot>Disabled</Badge>;
  if (live.length === 0) return <Badge dot>Offline</Badge>;
  return <Badge tone="good" dot>{live.length === 1 ? "Live" : `Live, ${live.length} ports`}</Badge>;
}
