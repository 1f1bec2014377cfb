import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A third-party server on a loopback port. */
export interface RealServer {
  port: number;
  stop(): Promise<void>;
}

/** Whether a program is installed. */
export function hasProgram(name: string): boolean {
  return spawnSync(name, [name === "nginx" ? "-v" : "--version"]).status === 0;
}

/** Starts a program that prints its port on a line of its own. */
async function startChild(command: string, args: string[]): Promise<RealServer> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  for await (const chunk of child.stdout) {
    text += chunk;
    if (text.includes("\n")) break;
  }
  return { port: Number(text), stop: () => stopChild(child) };
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

const NODE_SERVER = `
const http = require("node:http"), crypto = require("node:crypto");
const routes = {
  "/hello": (q, s) => s.writeHead(200, { "content-length": 5, "set-cookie": ["a=1", "b=2"] }).end(q.method === "HEAD" ? "" : "hello"),
  "/chunked": (q, s) => { s.writeHead(200, { trailer: "x-sum" }); s.write("hel"); s.write("lo"); s.addTrailers({ "x-sum": "1" }); s.end(); },
  "/empty": (q, s) => s.writeHead(204).end(),
  "/unchanged": (q, s) => s.writeHead(304, { etag: '"a"' }).end(),
  "/large": (q, s) => s.end(Buffer.alloc(3_000_000, 120)),
  "/large-chunked": (q, s) => { for (let i = 0; i < 30; i++) s.write(Buffer.alloc(100_000, 120)); s.end(); },
  "/slow": async (q, s) => { for (const part of ["a", "b", "c"]) { s.write(part); await new Promise((r) => setTimeout(r, 30)); } s.end(); },
  "/cut": (q, s) => { s.writeHead(200, { "content-length": 100 }); s.write("part"); setTimeout(() => s.destroy(), 20); },
  "/hints": (q, s) => s.writeEarlyHints({ link: "</a.css>; rel=preload" }, () => { s.writeProcessing(); s.end("hello"); }),
  "/echo": (q, s) => q.pipe(s),
  "/refuse": (q, s) => s.writeHead(413, { connection: "close" }).end("too large"),
  "/idle": (q, s) => { s.end("hello"); s.on("close", () => setTimeout(() => server.closeIdleConnections(), 20)); },
};
const server = http.createServer((q, s) => (routes[q.url] ?? ((q, s) => s.writeHead(404).end()))(q, s));
server.on("upgrade", (q, socket) => {
  if (q.url !== "/socket") return socket.end("HTTP/1.1 403 Forbidden\\r\\ncontent-length: 2\\r\\n\\r\\nno");
  const accept = crypto.createHash("sha1").update(q.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nupgrade: websocket\\r\\nconnection: Upgrade\\r\\nsec-websocket-accept: " + accept + "\\r\\n\\r\\n");
  socket.write(Buffer.from([0x81, 5, ...Buffer.from("hello"), 0x88, 5, 0x0f, 0xa0, ...Buffer.from("bye")]));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
`;

const PYTHON_SERVER = `
import http.server, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *args): pass
    def answer(self, status, body=None, **fields):
        self.send_response(status)
        for name, value in fields.items(): self.send_header(name.replace("_", "-"), value)
        if body is not None: self.send_header("content-length", str(len(body)))
        self.end_headers()
        if body is not None and self.command != "HEAD": self.wfile.write(body)
    def chunk(self, data):
        self.wfile.write(b"%x\\r\\n%s\\r\\n" % (len(data), data))
    def do_GET(self):
        if self.path == "/hello": self.answer(200, b"hello")
        elif self.path == "/empty": self.answer(204)
        elif self.path == "/unchanged": self.answer(304)
        elif self.path == "/large": self.answer(200, b"x" * 3000000)
        elif self.path == "/chunked":
            self.answer(200, transfer_encoding="chunked")
            self.chunk(b"hel"); self.chunk(b"lo"); self.wfile.write(b"0\\r\\nx-sum: 1\\r\\n\\r\\n")
        elif self.path == "/slow":
            self.answer(200, transfer_encoding="chunked")
            for part in (b"a", b"b", b"c"): self.chunk(part); time.sleep(0.03)
            self.wfile.write(b"0\\r\\n\\r\\n")
        elif self.path == "/cut":
            self.answer(200, content_length="100"); self.wfile.write(b"part"); time.sleep(0.05); self.close_connection = True
        elif self.path == "/hints":
            self.wfile.write(b"HTTP/1.1 103 Early Hints\\r\\nlink: </a.css>\\r\\n\\r\\n"); self.answer(200, b"hello")
        elif self.path == "/to-close":
            self.answer(200, connection="close"); self.wfile.write(b"hello"); self.close_connection = True
        else: self.answer(404, b"")
    do_HEAD = do_GET
    def do_POST(self):
        if self.path == "/refuse":
            self.answer(413, b"too large", connection="close"); self.close_connection = True
            return
        if "content-length" in self.headers: body = self.rfile.read(int(self.headers["content-length"]))
        else:
            body = b""
            while True:
                size = int(self.rfile.readline(), 16)
                body += self.rfile.read(size); self.rfile.readline()
                if size == 0: break
        self.answer(200, body)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
`;

/** Starts an HTTP server in Node. The caller stops it. */
export const startNode = (): Promise<RealServer> => startChild("node", ["-e", NODE_SERVER]);

/** Starts an HTTP server in Python. The caller stops it. */
export const startPython = (): Promise<RealServer> => startChild("python3", ["-c", PYTHON_SERVER]);

/** Returns a free port, because nginx does not accept 0. */
async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

/** Starts nginx in front of a folder, and of `backendPort` below `/backend/`. */
export async function startNginx(backendPort: number): Promise<RealServer> {
  const folder = mkdtempSync(join(tmpdir(), "portway-nginx-"));
  const port = await findFreePort();
  writeFileSync(join(folder, "hello"), "hello");
  writeFileSync(join(folder, "large"), "x".repeat(3_000_000));
  writeFileSync(
    join(folder, "nginx.conf"),
    `daemon off; master_process off; pid ${folder}/pid; error_log stderr crit;
events {}
http {
  access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
  client_max_body_size 1k; keepalive_timeout 1s;
  server {
    listen 127.0.0.1:${port}; root ${folder};
    location = /empty { return 204; }
    location = /ready { return 200 "ready"; }
    location /backend/ { proxy_pass http://127.0.0.1:${backendPort}/; proxy_http_version 1.1; }
  }
}
`,
  );
  const child = spawn("nginx", ["-p", folder, "-c", join(folder, "nginx.conf")], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  child.stderr.on("data", (chunk) => log += chunk);
  await waitForServer(port, () => child.exitCode !== null ? log : null);
  return {
    port,
    async stop() {
      await stopChild(child);
      rmSync(folder, { recursive: true });
    },
  };
}

/** Polls until nginx responds, because nginx does not report that it listens. */
async function waitForServer(port: number, failure: () => string | null): Promise<void> {
  for (;;) {
    const why = failure();
    if (why !== null) throw new Error(`nginx did not start: ${why}`);
    const response = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => null);
    await response?.body?.cancel();
    if (response !== null) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
