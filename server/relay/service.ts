import type { Authenticate } from "../access/mod.ts";
import type { ApiArea } from "../http/mod.ts";
import { TUNNELS_API } from "./api/open_api.ts";
import { createTunnelRoutes } from "./api/tunnel_routes.ts";
import { TunnelManagement, type TunnelManagementOptions } from "./management/management.ts";

/** The service by which members manage their tunnels. */
export interface TunnelService {
  readonly api: ApiArea;
  /** The same operations for pages. */
  readonly management: TunnelManagement;
}

/** Creates the tunnels' API and the management behind it. */
export function openService(options: TunnelManagementOptions & { authenticate: Authenticate }): TunnelService {
  const management = new TunnelManagement(options);
  return { management, api: { routes: createTunnelRoutes(management, options.authenticate), describe: TUNNELS_API } };
}
