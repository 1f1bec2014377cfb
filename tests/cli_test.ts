/** The command line as people meet it: help, wrong input, what it prints, what it keeps, and what it keeps to itself. */
import assert from "node:assert/strict";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import {
  makeTempDir,
  type Program,
  runProgram,
  startProgram,
  startServer,
  startSite,
  startTunnel,
  visit,
} from "./kit.ts";

async function run(args: string[], env?: Record<string, string>) {
  await using config = await makeTempDir();
  return await runProgram({ entry: "cli.ts", args, env: { PORTWAY_CONFIG_DIR: config.path, ...env } });
}

/** A port on which nobody listens. */
function findClosedPort(): number {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  listener.close();
  return listener.addr.port;
}

/** Wrong usage: exit code 2. */
const USAGE_ERRORS: [args: string[], says: RegExp][] = [
  [["-e", "0"], /^portway: -e, --expose: cannot use "0": a port from 1 to 65535/],
  [["-e", "70000"], /70000/],
  [["-e", "abc"], /abc/],
  [["-e", "-1"], /-1|-e/],
  [["-e"], /-e/],
  [["-e", "3000", "--unknown"], /--unknown/],
  [["-e", "3000", "--server", "nonsense"], /nonsense/],
  [["-e", "3000", "--server", "ftp://example.com"], /ftp/],
  [["--show-qr"], /no action is given/],
  [["extra"], /extra/],
  [["-e", "3000", "--ca-certs", "missing.pem"], /^portway: --ca-certs: .*missing\.pem/],
  [["-e", "3000", "--ca-certs", "README.md"], /^portway: --ca-certs: .*README\.md/],
  [["server", "--port", "99999"], /99999/],
  [["server", "--listener", "apache"], /apache/],
  [["-e", "3000", "-p", "secret"], /-p needs -f/],
  [["-f", ".", "--drop"], /--drop goes with -fw/],
  [["-e", "3000", "--host-header", "a\r\nx: y"], /--host-header.*host name/],
  [["server", "--trusted-proxies", "10.0.0.1,nginx"], /--trusted-proxies.*nginx/],
  [["server", "--tunnel-domains", "a/b"], /--tunnel-domains.*a\/b/],
  [["server", "--tunnel-domains", "example.com:80"], /--tunnel-domains/],
  [["server", "--url", "http://192.0.2.7:8787"], /192\.0\.2\.7.*--tunnel-domains/],
  [["server", "--url", "http://[::1]:8787"], /--tunnel-domains/],
  [["server", "--tls-cert", "README.md", "--tls-key", "README.md", "--listener", "edge"], /--tls-cert.*README\.md/],
  [["server", "--proxy-allow", "10.0.0.0/99", "--port", "0", "--data-dir", ":memory:"], /--proxy-allow.*99/],
  [["proxy", "--proxy-origins", "foo"], /--proxy-origins.*"foo"/],
  [["proxy", "--proxy-origins", "https://b.example,https://a.example/path"], /--proxy-origins.*"https:\/\/a/],
  [["proxy", "--proxy-files", "/nonexistent"], /--proxy-files.*\/nonexistent.*folder/],
  [["server", "--proxy-files", "README.md"], /--proxy-files.*README\.md.*folder/],
  [["server", "--tls-cert", "missing.pem"], /--tls-cert and --tls-key/],
  [["server", "--tls-cert", "missing.pem", "--tls-key", "missing.pem"], /--tls-cert.*missing\.pem/],
];

Deno.test("who asks for help gets it, whatever is missing or unknown in the line", async () => {
  for (const args of [["--views-tail", "--help"], ["-e", "-h"], ["-e", "--help=true"], ["--no-such-flag", "--help"]]) {
    const { code, output, errors } = await run(args);
    assert.deepEqual([code, errors], [0, ""]);
    assert.match(output, /^Usage: /m);
  }
});

for (const [args, says] of USAGE_ERRORS) {
  Deno.test(`portway ${args.join(" ")} is wrong usage: one clear line, exit code 2`, async () => {
    const { code, output, errors } = await run(args);
    assert.deepEqual([code, output], [2, ""], errors);
    assert.match(errors, says);
    assert(errors.split("\n").length <= 2, errors);
    assert.doesNotMatch(errors, /\n {4}at |\.ts:\d/);
  });
}

/** Variables whose value is of no use, at once or only later, and the command that uses it. */
const WRONG_VARIABLES: [variable: string, value: string, args: string[]][] = [
  ["PORTWAY_SERVER", "nonsense", ["-e", "3000"]],
  ["PORTWAY_CA_CERTS", "missing.pem", ["-e", "3000"]],
  ["NODE_EXTRA_CA_CERTS", "README.md", ["-e", "3000"]],
  ["HTTPS_PROXY", "socks5://localhost", ["-e", "3000"]],
  ["http_proxy", "http://", ["-e", "3000"]],
  ["PORTWAY_TRUSTED_PROXIES", "nginx", ["server", "--port", "0", "--data-dir", ":memory:"]],
  ["PORTWAY_TRUSTED_PROXIES", "nginx", ["proxy", "--port", "0"]],
  ["PORTWAY_PROXY_ALLOW", "10.0.0.0/99", ["server", "--port", "0", "--data-dir", ":memory:"]],
  ["PORTWAY_PROXY_ALLOW", "10.0.0.0/99", ["proxy", "--port", "0"]],
  ["PORTWAY_VIEW_REPLAY_ALLOW", "10.0.0.0/99", ["server", "--port", "0", "--data-dir", ":memory:"]],
  ["PORTWAY_TLS_CERT", "missing.pem", ["server", "--tls-key", "missing.pem"]],
];

for (const [variable, value, args] of WRONG_VARIABLES) {
  Deno.test(`${variable}=${value} is wrong usage of portway ${args.join(" ")}, and named`, async () => {
    const { code, output, errors } = await run(args, { [variable]: value });
    assert.deepEqual([code, output], [2, ""], errors);
    assert(errors.startsWith(`portway: ${variable}: `), errors);
    assert.equal(errors.split("\n").length, 1, errors);
  });
}

async function assertFailure(args: string[], says: RegExp, env: Record<string, string> = {}): Promise<void> {
  const { code, output, errors } = await run(args, env);
  assert.deepEqual([code, output], [1, ""], errors);
  assert.match(errors, says);
  assert.equal(errors.split("\n").length, 1, errors);
  assert.doesNotMatch(errors, /\n {4}at |\.ts:\d/);
}

Deno.test("a server that is not there: one line, exit code 1", async () => {
  await assertFailure(["-e", "3000", "--server", `http://127.0.0.1:${findClosedPort()}`], /cannot reach the server/);
});

Deno.test("a server that is no Portway: one line, exit code 1", async () => {
  await using site = startSite();
  await assertFailure(["-e", "3000", "--server", `http://127.0.0.1:${site.port}`], /not a Portway server/);
});

Deno.test("a server that speaks no HTTP: one line, exit code 1", async () => {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const serving = (async () => {
    for await (const connection of listener) {
      await connection.write(new TextEncoder().encode("220 mail.example ESMTP\r\n"));
      await connection.read(new Uint8Array(1000));
      connection.close();
    }
  })();
  await assertFailure(["-e", "3000", "--server", `http://127.0.0.1:${listener.addr.port}`], /not a Portway server/);
  listener.close();
  await serving;
});

Deno.test("an empty environment variable is as good as none", async () => {
  await assertFailure(["--resume"], /no tunnel to resume/, { PORTWAY_SERVER: "", PORTWAY_CA_CERTS: "", NO_COLOR: "" });
  const { code, errors } = await run(["server", "--log-level", "loud"], { PORTWAY_PORT: "", PORTWAY_LISTENER: "" });
  assert.equal(code, 2);
  assert.match(errors, /loud/);
});

Deno.test("--resume without a tunnel to resume says so", async () => {
  await assertFailure(["--resume"], /no tunnel to resume/);
});

Deno.test("a port that is taken: the server says which, exit code 1", async () => {
  await using server = await startServer();
  await using data = await makeTempDir();
  const { code, errors } = await run(["server", "--port", String(server.port), "--data-dir", data.path]);
  assert.equal(code, 1);
  assert.match(
    errors,
    new RegExp(`cannot listen on 127.0.0.1 port ${server.port}: another program listens there already `),
  );
  assert.doesNotMatch(errors, /\n {4}at /);
});

Deno.test("a server that others can reach says what its operator overlooked", async () => {
  await using careless = await startServer({ args: ["--host", "0.0.0.0", "--listener", "deno"] });
  await careless.errors.waitFor(/warn +url_not_set .*--url/);
  await careless.errors.waitFor(/warn +listener_without_limits .*--listener deno/);
  const args = ["--host", "0.0.0.0", "--url", "http://tunnel.example"];
  await using careful = startProgram({
    entry: "server.ts",
    args: ["--json", "--port", "0", "--data-dir", ":memory:", ...args],
  });
  await careful.events.waitFor("listening");
  assert.doesNotMatch(careful.errors.text, / (warn|error) /);
});

Deno.test("a database that is none is named, and left as it is", async () => {
  await using data = await makeTempDir();
  const path = join(data.path, "portway.db");
  await writeFile(path, "these are my notes, not a database, and they are long enough to be one".repeat(100));
  const { code, errors } = await run(["server", "--port", "0", "--data-dir", data.path]);
  assert.equal(code, 1);
  assert.equal(errors, `portway: cannot open the database ${path}: file is not a database`);
  assert.match(await readFile(path, "utf8"), /^these are my notes/);
});

Deno.test("--help shows examples, every flag, and fits a terminal; so does portway alone", async () => {
  for (const args of [["--help"], []]) {
    const { code, output, errors } = await run(args);
    const text = output + errors;
    assert([0, 2].includes(code));
    for (const flag of ["-e", "--show-qr", "--resume", "--server", "--json", "--host-header", "PORTWAY_SERVER"]) {
      assert(text.includes(flag), `${flag} is not in ${text}`);
    }
    assert.match(text, /portway -e 3000/);
  }
});

Deno.test("--version prints the version and nothing else", async () => {
  const { code, output, errors } = await run(["--version"]);
  assert.deepEqual([code, errors], [0, ""]);
  assert.match(output, /^\S+$/);
});

Deno.test("--json: every line of output is one event of the documented shape", async () => {
  await using site = startSite();
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: site });
  await (await visit(`${tunnel.url}/text?a=1`)).bytes();
  await (await visit(`${tunnel.url}/status/404`, { method: "PUT", body: "12345" })).bytes();
  const get = await tunnel.events.waitFor("request", ({ method }) => method === "GET");
  const put = await tunnel.events.waitFor("request", ({ method }) => method === "PUT");
  assert.deepEqual([get.path, get.status, put.path, put.status], ["/text?a=1", 200, "/status/404", 404]);
  for (const { time, durationMs, bytes } of [get, put]) {
    assert(Math.abs(Date.parse(String(time)) - Date.now()) < 60_000);
    assert(typeof durationMs === "number" && durationMs > 0);
    assert(typeof bytes === "number" && bytes > 0);
  }
  const { opened } = tunnel;
  assert.deepEqual(Object.keys(opened).slice(0, 5).sort(), ["event", "expiresAt", "id", "target", "url"]);
  assert.equal(opened.target, `http://localhost:${site.port}`);
  assert(Math.abs(Date.parse(String(opened.expiresAt)) - Date.now() - 3_600_000) < 60_000);
  const { code, summary } = await tunnel.stop();
  assert.deepEqual([code, summary.requests], [0, 2]);
  assert.equal(summary.bytes, Number(get.bytes) + Number(put.bytes));
  assert.equal(tunnel.errors.text, "");
});

/** A client that prints for people. */
async function startForPeople(args: string[]): Promise<Program & { configDir: string }> {
  const config = await makeTempDir();
  const program = startProgram({ entry: "cli.ts", args: [...args, "--config-dir", config.path] });
  return {
    ...program,
    configDir: config.path,
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      await config[Symbol.asyncDispose]();
    },
  };
}

Deno.test("for people: endpoint, service, expiry, QR code, a line a request, a summary", async () => {
  await using site = startSite();
  await using server = await startServer();
  await using client = await startForPeople(["-e", String(site.port), "--server", server.url, "--show-qr"]);
  const url = /https?:\/\/\S+/.exec(await client.output.waitFor("Public endpoint"))?.[0] ?? "";
  await client.output.waitFor(`http://localhost:${site.port}`);
  await client.output.waitFor(/Expires .*\d\d:\d\d.* in 60 minutes/);
  await client.output.waitFor(/█▀▀▀▀▀█/);
  await client.output.waitFor("Ctrl+C");
  await visit(`${url}/text?q=%1b[31m`);
  await client.output.waitFor(/^\d{4}-\d\d-\d\dT\S+ GET \/text\?q=%1b%5B31m 200 \S+ ?m?s$|GET \/text\?q=%1b\[31m 200/);
  client.kill("SIGINT");
  assert.equal((await client.ended).code, 0);
  assert.match(client.output.text, /Requests served +1\n.*Data transferred +[\d.]+ k?B/);
  // deno-lint-ignore no-control-regex -- what is looked for
  assert.doesNotMatch(client.output.text, /\x1b/);
});

Deno.test("without a server the client runs one, says so, and --resume takes its tunnel back", async () => {
  await using site = startSite();
  await using first = await startTunnel({ target: site });
  await first.events.waitFor("note", ({ text }) => /running one here/.test(String(text)));
  assert.equal(await (await visit(`${first.url}/text`)).text(), "hello");
  assert.equal((await first.stop()).code, 0);
  await using second = await startTunnel({ configDir: first.configDir, args: ["--resume"] });
  assert.deepEqual([second.url, second.opened.expiresAt], [first.url, first.opened.expiresAt]);
  assert.equal(await (await visit(`${second.url}/text`)).text(), "hello");
});

Deno.test("a folder that cannot be written to costs --resume, not the tunnel", async () => {
  await using site = startSite();
  await using server = await startServer();
  await using config = await makeTempDir();
  await writeFile(join(config.path, "file"), "");
  await using tunnel = await startTunnel({ server, target: site, configDir: join(config.path, "file", "below") });
  await tunnel.events.waitFor("note", ({ text }) => /^--resume will not find this tunnel: /.test(String(text)));
  assert.equal(await (await visit(`${tunnel.url}/text`)).text(), "hello");
});

Deno.test("--verbose says what is connected to, on standard error", async () => {
  await using site = startSite();
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: site, args: ["--verbose"] });
  await (await visit(`${tunnel.url}/text`)).bytes();
  await tunnel.errors.waitFor(new RegExp(`connected peer=server host=localhost port=${server.port}`));
  await tunnel.errors.waitFor(`tunnel_made id=${tunnel.id} server=${server.url}`);
  await tunnel.errors.waitFor(new RegExp(`connected peer=service host=localhost port=${site.port}`));
});

/** The one file in which the client keeps its tunnel. */
async function findSavedTunnel({ configDir }: { configDir: string }): Promise<string> {
  const names = await readdir(join(configDir, "tunnels"));
  assert.equal(names.length, 1);
  return join(configDir, "tunnels", names[0]);
}

Deno.test("what the client keeps can be read by its user alone", async () => {
  await using site = startSite();
  await using server = await startServer();
  await using tunnel = await startTunnel({ server, target: site });
  assert.deepEqual(await readdir(tunnel.configDir), ["tunnels"]);
  assert.equal((await stat(await findSavedTunnel(tunnel))).mode & 0o777, 0o600);
});

Deno.test("the secret is in no log, no URL, no command line and no database as it is", async () => {
  await using site = startSite();
  await using server = await startServer({ args: ["--log-level", "debug", "--log-format", "json"] });
  await using tunnel = await startTunnel({ server, target: site, args: ["--verbose"] });
  const { secret } = JSON.parse(await readFile(await findSavedTunnel(tunnel), "utf8"));
  assert(secret.length > 20);
  await (await visit(`${tunnel.url}/inspect`)).bytes();
  const places: Record<string, string> = {
    "the server's log": server.errors.text + server.output.text,
    "the client's output": tunnel.errors.text + tunnel.output.text,
    "the URL": tunnel.url,
  };
  for (const { pid } of [server, tunnel]) {
    places[`the command line of ${pid}`] = await readFile(`/proc/${pid}/cmdline`, "latin1");
  }
  for (const name of await readdir(server.dataDir)) {
    places[name] = await readFile(join(server.dataDir, name), "latin1");
  }
  for (const [place, text] of Object.entries(places)) assert(!text.includes(secret), `the secret is in ${place}`);
  for (const line of server.errors.lines) assert.equal(typeof JSON.parse(line).time, "string", line);
});

/** A server that takes the handshake and never answers it. */
async function startSilentServer() {
  const server = createServer(() => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(address !== null && typeof address === "object");
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked: once(server, "request"),
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

Deno.test("Ctrl+C while the server does not answer ends the client without a word", async () => {
  using silent = await startSilentServer();
  await using client = await startForPeople(["-e", "3000", "--server", silent.url]);
  await silent.asked;
  client.kill("SIGINT");
  assert.equal((await client.ended).code, 1);
  assert.deepEqual([client.output.text, client.errors.text], ["", ""]);
});

Deno.test("a second Ctrl+C does not wait", async () => {
  using silent = await startSilentServer();
  await using client = await startForPeople(["-e", "3000", "--server", silent.url]);
  await silent.asked;
  client.kill("SIGINT");
  client.kill("SIGINT");
  assert([1, 130].includes((await client.ended).code));
});

Deno.test("one press of Ctrl+C may arrive several times, as task runners pass it on", async () => {
  await using server = await startServer();
  await using client = await startForPeople(["-e", "3000", "--server", server.url]);
  await client.output.waitFor("Waiting for connections");
  for (let i = 0; i < 50; i++) {
    try {
      client.kill("SIGINT");
    } catch {
      break; // It has ended.
    }
    await delay(2);
  }
  assert.equal((await client.ended).code, 0);
  assert.match(client.output.text, /Requests served/);
});
