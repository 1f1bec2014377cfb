import type { Logger } from "../common/log.ts";
import { createApiHandler } from "./api/api.ts";
import { checkAllowLists } from "./open/check_allow_lists.ts";
import type { ProxyOnlyConfig } from "./config.ts";
import { shareWithPages } from "./http/mod.ts";
import { createHealth } from "./api/health.ts";
import { openCors } from "./open/cors.ts";
import { openProxy } from "./open/proxy.ts";
import { proxyApi } from "./proxy/mod.ts";
import type { RunningServer } from "./running_server.ts";
import { serve } from "./serving/serve.ts";

/**
 * Listens and serves the proxy alone, without tunnels and storage.
 * @throws as `startServer` does
 */
export async function startProxyOnly(config: ProxyOnlyConfig, log: Logger): Promise<RunningServer> {
  await checkAllowLists(config, ["proxyAllow"]);
  return await serve(config, log, (place) => {
    const { openPaths } = config;
    const cors = openCors(config, place.url, log);
    const proxy = openProxy({ config, ...place, cors, isTunnelHost: () => false, alone: config, log });
    const about = { baseUrl: place.url.origin, files: config.proxyFiles !== null, openPaths, isAlone: true };
    const api = createApiHandler({ areas: [], about, describeProxy: () => Promise.resolve(proxyApi(about)) });
    const health = createHealth(() => ({ status: "ok" }));
    const handlers = [health, api].map((handler) => shareWithPages(cors, handler));
    return { areas: [proxy, { handlers, drain: health.drain, close() {} }], close: () => Promise.resolve() };
  });
}
