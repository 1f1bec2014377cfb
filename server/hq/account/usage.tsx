import type { TunnelManagement } from "../../relay/mod.ts";
import { requireViewer } from "../page.tsx";
import { AllowancePanel } from "../tunnels/mod.ts";
import type { HqApp } from "../types.ts";
import { serveAccountPage } from "./frame.tsx";

/** What the user has carried this month. */
export function addUsage(app: HqApp, tunnels: TunnelManagement): void {
  app.get("/account/usage", async (context) => {
    const allowance = await tunnels.allowance(requireViewer(context));
    return serveAccountPage(context, {
      path: "/account/usage",
      title: "Usage",
      content: <AllowancePanel allowance={allowance} />,
    });
  });
}
