export { CorsProxy, type ProxyOptions } from "./proxy.ts";
export { proxyApi, type ProxyApiOptions } from "./api.ts";
export { type HopResponse, type ProxyUpstreamOptions, Upstream, type UpstreamRequest } from "./perform/upstream.ts";
