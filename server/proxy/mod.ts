export { CorsProxy, type ProxyOptions } from "./proxy.ts";
export type { Cors } from "./cors.ts";
export { proxyApi, type ProxyApiOptions } from "./api.ts";
export { welcome, type WelcomeOptions } from "./welcome.ts";
export { createProxyFace, shareWithPages } from "./faces.ts";
export { type HopAnswer, type ProxyUpstreamOptions, Upstream, type UpstreamRequest } from "./perform/upstream.ts";
