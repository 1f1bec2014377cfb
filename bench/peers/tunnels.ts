import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort, whenListening } from "../programs/ports.ts";
import { type Program, runProgram, startProgram } from "../programs/process.ts";
import type { Contestant, ContestantOptions, Endpoint } from "../programs/types.ts";
import { findBinary, findCrate, type FindOptions, readVersion } from "./find.ts";
import { startIdlePiko, startPikoServer } from "./piko.ts";
import type { MissingPeer, Peer } from "./types.ts";

/** Returns the installed peers and the missing ones. */
export async function findTunnels(options: FindOptions): Promise<(Peer | MissingPeer)[]> {
  return [
    await findFrp(),
    await findPiko(),
    await findChisel(),
    await findBore(options),
    await findNginx(),
    {
      name: "localtunnel",
      missing: "the one server on npm does not start on Node 20, and the current one comes as source",
    },
  ];
}

async function findFrp(): Promise<Peer | MissingPeer> {
  const frps = findBinary("frps"), frpc = findBinary("frpc");
  if ("missing" in frps) return { name: "frp", ...frps };
  if ("missing" in frpc) return { name: "frp", ...frpc };
  return {
    name: "frp",
    about: "type http, TLS off as ours on loopback",
    version: await readVersion(frps.path),
    commands: [
      'frps -c frps.toml (bindPort, vhostHTTPPort, proxyBindAddr = "127.0.0.1", log.level = "error")',
      'frpc -c frpc.toml (type = "http", transport.tls.enable = false, log.level = "error")',
    ],
    start: (options) => startFrp(frps.path, frpc.path, options),
  };
}

/** Starts frp. With `isSecure`, its client uses TLS, which is frp's default. */
export async function startFrp(
  frps: string,
  frpc: string,
  { service, between }: ContestantOptions,
  isSecure = false,
): Promise<Contestant> {
  const folder = mkdtempSync(join(tmpdir(), "portway-bench-frp-"));
  const bindPort = await findFreePort(), port = await findFreePort();
  const serverFile = join(folder, "frps.toml"), clientFile = join(folder, "frpc.toml");
  writeFileSync(
    serverFile,
    `bindAddr = "127.0.0.1"\nbindPort = ${bindPort}\nproxyBindAddr = "127.0.0.1"\nvhostHTTPPort = ${port}\nlog.level = "error"\n`,
  );
  const server = startProgram(frps, ["-c", serverFile]);
  await whenListening(port);
  writeFileSync(
    clientFile,
    `serverAddr = "127.0.0.1"\nserverPort = ${
      await between?.(bindPort) ?? bindPort
    }\ntransport.tls.enable = ${isSecure}\n` +
      `log.level = "error"\n\n[[proxies]]\nname = "bench"\ntype = "http"\nlocalIP = "127.0.0.1"\n` +
      `localPort = ${service}\ncustomDomains = ["frp.test"]\n`,
  );
  const client = startProgram(frpc, ["-c", clientFile]);
  return await openContestant("frp", { port, host: "frp.test" }, server, client, folder);
}

async function findPiko(): Promise<Peer | MissingPeer> {
  const piko = findBinary("piko");
  if ("missing" in piko) return { name: "piko", ...piko };
  return {
    name: "piko",
    about: "HTTP upstream",
    version: await readVersion(piko.path),
    commands: [
      "piko server --proxy.bind-addr 127.0.0.1:<port> --upstream.bind-addr 127.0.0.1:<port> --log.level error",
      "piko agent http bench <service> --connect.url http://127.0.0.1:<port> --log.level error",
    ],
    start: (options) => startPiko(piko.path, options),
    startIdle: () => startIdlePiko(piko.path),
  };
}

async function startPiko(piko: string, { service, between }: ContestantOptions): Promise<Contestant> {
  const server = await startPikoServer(piko);
  const url = `http://127.0.0.1:${await between?.(server.upstreamPort) ?? server.upstreamPort}`;
  const client = startProgram(piko, [
    ...["agent", "http", "bench", String(service), "--connect.url", url, "--log.level", "error"],
    ...["--server.bind-addr", `127.0.0.1:${await findFreePort()}`],
  ]);
  return await openContestant("piko", { port: server.proxyPort, host: "bench.piko.test" }, server, client);
}

async function findChisel(): Promise<Peer | MissingPeer> {
  const chisel = findBinary("chisel");
  if ("missing" in chisel) return { name: "chisel", ...chisel };
  return {
    name: "chisel",
    about: "carries bytes and knows no HTTP: no Host, no header hygiene, no log of requests; encrypts by SSH",
    version: await readVersion(chisel.path),
    commands: [
      "chisel server --host 127.0.0.1 --port <port> --reverse",
      "chisel client http://127.0.0.1:<port> R:127.0.0.1:<public>:127.0.0.1:<service>",
    ],
    start: (options) => startChisel(chisel.path, options),
  };
}

async function startChisel(chisel: string, { service, between }: ContestantOptions): Promise<Contestant> {
  const control = await findFreePort(), port = await findFreePort();
  const server = startProgram(chisel, ["server", "--host", "127.0.0.1", "--port", String(control), "--reverse"]);
  await whenListening(control);
  const remote = `R:127.0.0.1:${port}:127.0.0.1:${service}`;
  const client = startProgram(chisel, ["client", `http://127.0.0.1:${await between?.(control) ?? control}`, remote]);
  await whenListening(port);
  return await openContestant("chisel", { port, host: `127.0.0.1:${port}` }, server, client);
}

async function findBore(options: FindOptions): Promise<Peer | MissingPeer> {
  const bore = await findCrate("bore", "bore-cli", options);
  if ("missing" in bore) return { name: "bore", ...bore };
  return {
    name: "bore",
    about: "carries bytes and knows no HTTP; a connection of its own for every visitor, no multiplexing",
    version: await readVersion(bore.path),
    commands: ["bore server --bind-addr 127.0.0.1", "bore local <service> --to 127.0.0.1 --port <public>"],
    start: (options) => startBore(bore.path, options),
  };
}

/** bore's control port is fixed. */
const BORE_PORT = 7835;

async function startBore(bore: string, { service, between }: ContestantOptions): Promise<Contestant> {
  if (between !== undefined) throw new Error("the control port is fixed, so no delay is possible");
  const port = await findFreePort();
  const server = startProgram(bore, ["server", "--bind-addr", "127.0.0.1"]);
  await whenListening(BORE_PORT);
  const client = startProgram(bore, ["local", String(service), "--to", "127.0.0.1", "--port", String(port)]);
  await whenListening(port);
  return await openContestant("bore", { port, host: `127.0.0.1:${port}` }, server, client);
}

async function findNginx(): Promise<Peer | MissingPeer> {
  const nginx = findBinary("nginx");
  if ("missing" in nginx) return { name: "nginx", ...nginx };
  return {
    name: "nginx",
    about: "a reverse proxy in one hop, no tunnel: what carrying HTTP costs at the least",
    version: await readVersion(nginx.path, "-v"),
    commands: ["nginx -c nginx.conf (one process, proxy_pass with keepalive 256, access_log off, no buffering)"],
    start: (options) => startNginx(nginx.path, options),
  };
}

async function startNginx(nginx: string, { service, between }: ContestantOptions): Promise<Contestant> {
  const folder = mkdtempSync(join(tmpdir(), "portway-bench-nginx-")), port = await findFreePort();
  const target = await between?.(service) ?? service;
  const file = join(folder, "nginx.conf");
  writeFileSync(
    file,
    `daemon off; master_process off; pid ${folder}/pid; error_log /dev/null;
events { worker_connections 4096; }
http {
  access_log off; client_max_body_size 0; keepalive_requests 100000000;
  client_body_temp_path ${folder}/a; proxy_temp_path ${folder}/b; fastcgi_temp_path ${folder}/c;
  uwsgi_temp_path ${folder}/d; scgi_temp_path ${folder}/e;
  upstream service { server 127.0.0.1:${target}; keepalive 256; keepalive_requests 100000000; }
  map $http_upgrade $connection_upgrade { default upgrade; "" ""; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://service; proxy_http_version 1.1; proxy_buffering off; proxy_request_buffering off;
      proxy_set_header Connection $connection_upgrade; proxy_set_header Upgrade $http_upgrade;
    }
  }
}
`,
  );
  const server = startProgram(nginx, ["-c", file, "-e", "/dev/null"]);
  await whenListening(port);
  return await openContestant("nginx", { port, host: `127.0.0.1:${port}` }, server, null, folder);
}

/** Waits until visitors get responses, and ties the two programs together. */
async function openContestant(
  name: string,
  endpoint: Endpoint,
  server: Program,
  client: Program | null,
  folder?: string,
): Promise<Contestant> {
  const stop = async () => {
    await client?.stop();
    await server.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  };
  for (let tries = 0; !(await answers(endpoint)); tries++) {
    if (tries === ANSWER_TRIES) {
      await stop();
      throw new Error(`${name} carries no requests`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    name,
    endpoint,
    relay: [server.pid],
    client: client === null ? [] : [client.pid],
    lacks: new Set(),
    stop,
  };
}

const ANSWER_TRIES = 100;

/** Sends a request with curl, which allows any Host. */
async function answers({ port, host }: Endpoint): Promise<boolean> {
  const url = `http://127.0.0.1:${port}/`;
  return await runProgram("curl", ["-sf", "-m", "2", "-o", "/dev/null", "-H", `Host: ${host}`, url]) !== null;
}
