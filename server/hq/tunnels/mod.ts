import type { TunnelManagement } from "../../relay/mod.ts";
import type { HqApp } from "../types.ts";
import { addTunnelDetail } from "./detail.tsx";
import { addTunnelForms } from "./form.tsx";
import { addTunnelList } from "./list.tsx";

export { AllowancePanel, TunnelState } from "./list.tsx";

/** The pages of persistent tunnels. */
export function addTunnels(app: HqApp, tunnels: TunnelManagement): void {
  addTunnelList(app, tunnels);
  // Before the page of one: "new" is no tunnel's id.
  addTunnelForms(app, tunnels);
  addTunnelDetail(app, tunnels);
}
