import type { TunnelManagement } from "../../relay/mod.ts";
import type { HqApp } from "../types.ts";
import { addTunnelDetail } from "./detail.tsx";
import { addTunnelForms } from "./form.tsx";
import { addTunnelList } from "./list.tsx";

export { AllowancePanel, TunnelState } from "./list.tsx";

/** Adds the persistent tunnel pages. */
export function addTunnels(app: HqApp, tunnels: TunnelManagement): void {
  addTunnelList(app, tunnels);
  // Before a tunnel's page, so that "new" is no tunnel's id.
  addTunnelForms(app, tunnels);
  addTunnelDetail(app, tunnels);
}
