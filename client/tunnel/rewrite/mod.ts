export { Addresses, type PublicBase, RequestHeadWriter } from "./addresses.ts";
export { exposeOne, exposeSeveral, type PublicPorts, type TunnelPorts } from "./public_ports.ts";
export { pumpRewritten, sendRewritten } from "./pump.ts";
export { isBodyRewritten, Rewriting, type RewrittenExchange } from "./rewriting.ts";
