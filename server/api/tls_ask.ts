import { Hono } from "hono";
import { HttpError } from "../../common/http_error.ts";
import type { ExchangeEnv } from "../../net/listener/mod.ts";
import type { ApiArea } from "../http/mod.ts";

/** The path that a proxy calls, with `?domain=`, before it obtains a certificate on demand. */
const TLS_ASK_PATH = "/api/v1/tls-ask";

/**
 * Allows a reverse proxy to obtain certificates for the server's own hosts and for existing tunnels, and refuses all other
 * names. Attackers could otherwise exhaust the weekly limit that the certificate authority grants.
 * @param isServed whether this server has that host
 */
export function createTlsAsk(isServed: (host: string) => Promise<boolean>): ApiArea {
  const routes = new Hono<ExchangeEnv>();
  routes.get(TLS_ASK_PATH, async (context) => {
    const domain = (context.req.query("domain") ?? "").toLowerCase();
    if (DOMAIN.test(domain) && await isServed(domain)) return context.text("ok\n");
    throw new HttpError(404, "unknown_host", "This server does not answer at that host.");
  });
  const responses = { 200: { description: "it may" }, 404: { description: "it may not" } };
  return {
    routes,
    describe: {
      tag: { name: "tls", description: "for the proxy in front" },
      paths: {
        [TLS_ASK_PATH]: {
          get: {
            tags: ["tls"],
            operationId: "mayHaveCertificate",
            security: [],
            summary: "Whether a proxy may get a certificate for a host",
            parameters: [{ name: "domain", in: "query", required: true, schema: { type: "string" } }],
            responses,
          },
        },
      },
    },
  };
}

/** RFC 1035, section 2.3.4. */
const DOMAIN = /^(?=.{1,253}$)[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;
