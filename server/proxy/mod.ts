export { Proxy, type ProxyOptions } from "./proxy.ts";
export type { Cors } from "./cors.ts";
export { listEndpoints, welcome, type WelcomeOptions } from "./welcome.ts";
