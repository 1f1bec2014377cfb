export { checkAllowance, describeUsage } from "./allowance.ts";
export { checkPort, checkUsable, chooseTunnel, urlOfPort } from "./choose_tunnel.ts";
export { detailTunnel, listTunnels } from "./describe.ts";
export { fetchTunnels, fetchUsage, type ListedTunnel, type MonthUsage } from "./tunnels.ts";
