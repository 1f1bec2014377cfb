import { createLogger } from "../common/log.ts";
import { resolveOptions } from "../common/options.ts";
import { proxyOnlyOptions } from "../server/config.ts";
import { startProxyOnly } from "../server/proxy_only.ts";

/** The proxy, in this process. */
export interface TestProxy extends AsyncDisposable {
  /** Its origin, by address: `http://127.0.0.1:<port>`. */
  url: string;
  /** Asks for the request that `description` describes. */
  request(description: unknown, init?: RequestInit): Promise<Response>;
  /** All that it logged. */
  log: string[];
}

/** Starts `portway proxy` with flags by their names in the options table. */
export async function startTestProxy(flags: Record<string, string> = {}): Promise<TestProxy> {
  const log: string[] = [];
  const config = resolveOptions(proxyOnlyOptions, { flags: { port: "0", drainSeconds: "0", ...flags }, env: {} });
  const server = await startProxyOnly(
    config,
    createLogger({ format: config.logFormat, write: (line) => log.push(line) }),
  );
  const url = `http://127.0.0.1:${server.address.port}`;
  return {
    url,
    log,
    request: (description, init) =>
      fetch(`${url}/proxy/request`, { method: "POST", body: JSON.stringify(description), ...init }),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** An upstream on loopback, and what reached it. */
export interface TestUpstream extends AsyncDisposable {
  url: string;
  port: number;
  /** Connections are not counted, requests are. */
  requests: Request[];
}

/** Starts an upstream that answers by `handler`. */
export function startTestUpstream(
  handler: (request: Request) => Response | Promise<Response>,
): TestUpstream {
  const requests: Request[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    requests.push(request);
    return handler(request);
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    port: server.addr.port,
    requests,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** An upstream that speaks raw bytes. */
export interface TestRawUpstream extends AsyncDisposable {
  url: string;
  port: number;
  /** How many were opened. */
  readonly connections: number;
}

/** Starts one: answers what `reply` makes of the first bytes that arrive. */
export function startRawUpstream(
  reply: (connection: Deno.TcpConn, received: string) => Promise<void> | void,
): TestRawUpstream {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  let connections = 0;
  const accepting = (async () => {
    for await (const connection of listener) {
      connections++;
      serveRaw(connection, reply).catch(() => connection.close());
    }
  })();
  return {
    url: `http://127.0.0.1:${listener.addr.port}`,
    port: listener.addr.port,
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
    },
  };
}

async function serveRaw(
  connection: Deno.TcpConn,
  reply: (connection: Deno.TcpConn, received: string) => Promise<void> | void,
): Promise<void> {
  const buffer = new Uint8Array(65_536);
  const read = await connection.read(buffer);
  await reply(connection, new TextDecoder().decode(buffer.subarray(0, read ?? 0)));
}
