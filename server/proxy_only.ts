import type { Logger } from "../common/log.ts";
import { createApiFace } from "./api.ts";
import { checkAllowLists } from "./check_allow_lists.ts";
import type { ProxyOnlyConfig } from "./config.ts";
import { shareWithPages } from "./face/mod.ts";
import { createHealth } from "./health.ts";
import { openCors } from "./open_cors.ts";
import { openProxy } from "./open_proxy.ts";
import { proxyApi } from "./proxy/mod.ts";
import type { RunningServer } from "./running_server.ts";
import { serve } from "./serve.ts";

/**
 * Listens and serves the proxy alone: no tunnels, nothing stored.
 * @throws as `startServer` does
 */
export async function startProxyOnly(config: ProxyOnlyConfig, log: Logger): Promise<RunningServer> {
  await checkAllowLists({ ...config, viewReplayAllow: [] });
  return await serve(config, log, (place) => {
    const { openPaths } = config;
    const cors = openCors(config, place.url, log);
    const proxy = openProxy({ config, ...place, cors, isTunnelHost: () => false, alone: config, log });
    const about = { baseUrl: place.url.origin, files: config.proxyFiles !== null, openPaths, isAlone: true };
    const api = createApiFace({ areas: [], about, describeProxy: () => Promise.resolve(proxyApi(about)) });
    const faces = [createHealth(() => ({})), api].map((face) => shareWithPages(cors, face));
    return { areas: [proxy, { faces, close() {} }], close: () => Promise.resolve() };
  });
}
