export { CorsProxy, type ProxyOptions } from "./proxy.ts";
export { proxyApi, type ProxyApiOptions } from "./api.ts";
export { type HopAnswer, type ProxyUpstreamOptions, Upstream, type UpstreamRequest } from "./perform/upstream.ts";
