import type { Authenticate } from "../access/mod.ts";
import type { ApiArea } from "../http/mod.ts";
import { TUNNELS_API } from "./api/open_api.ts";
import { createTunnelRoutes } from "./api/tunnel_routes.ts";
import { TunnelManagement, type TunnelManagementOptions } from "./management/management.ts";

/** Where members of accounts manage their tunnels. */
export interface TunnelService {
  readonly api: ApiArea;
  /** For pages. */
  readonly management: TunnelManagement;
}

/** The API of tunnels, and what stands behind it. */
export function openService(options: TunnelManagementOptions & { authenticate: Authenticate }): TunnelService {
  const management = new TunnelManagement(options);
  return { management, api: { routes: createTunnelRoutes(management, options.authenticate), describe: TUNNELS_API } };
}
