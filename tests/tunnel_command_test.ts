import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  makeTempDir,
  openSocket,
  type Program,
  runAtTerminal,
  startProgram,
  startSite,
  startSocketService,
  visit,
  within,
} from "./kit.ts";
import { callApi, makeTunnel, startTunnelServer, type TunnelServer, urlOfPort } from "./kit/tunnel_server.ts";

/** Starts the client as ann, whose token is her name. */
function start(server: TunnelServer, args: readonly string[], env: Record<string, string> = {}): Program {
  const all = [...args, "--json", "--server", server.url, "--config-dir", "/nowhere"];
  return startProgram({ entry: "cli.ts", args: all, env: { PORTWAY_TOKEN: "ann", ...env } });
}

const end = async (program: Program) => (await within("the end of the client", program.ended)).code;

/** Runs the client to an end that it comes to by itself: its exit code and its line on standard error. */
async function fail(server: TunnelServer, args: readonly string[], env?: Record<string, string>) {
  await using program = start(server, args, env);
  return [await end(program), program.errors.text.replace(/^portway: /, "")];
}

interface Opened {
  name: string;
  ports: { port: number; url: string; target: string }[];
  usage: { bytes: number };
}

const whenOpen = async (program: Program) =>
  await program.events.waitFor("open").catch((cause) => {
    throw new Error(program.errors.text, { cause });
  }) as unknown as Opened;

const text = async (url: string) => await (await visit(url)).text();

Deno.test("-t carries the default port of a tunnel until Ctrl+C, and says how much was used", async () => {
  await using server = await startTunnelServer();
  await using site = startSite();
  const tunnel = await makeTunnel(server, "ann", { name: "shop", defaultPort: site.port, allowedPorts: [site.port] });
  await using client = start(server, ["-t", "sh"]);
  const opened = await whenOpen(client);
  assert.deepEqual([opened.name, opened.ports], ["shop", [
    { port: site.port, url: tunnel.url, target: `http://localhost:${site.port}` },
  ]]);
  assert.equal(await text(`${tunnel.url}/text`), "hello");
  const request = await client.events.waitFor("request");
  assert.deepEqual([request.path, request.port], ["/text", undefined]);
  client.kill("SIGINT");
  const summary = await client.events.waitFor("summary");
  assert.deepEqual([summary.reason, summary.requests], ["The tunnel was stopped.", 1]);
  assert.equal(await end(client), 0);
  await using again = start(server, ["-t", "shop"]);
  assert((await whenOpen(again)).usage.bytes > 0);
});

Deno.test("several -e serve several ports of a tunnel in one client, over HTTP, SSE and WebSockets", async () => {
  await using server = await startTunnelServer();
  await using site = startSite();
  await using sockets = await startSocketService();
  const tunnel = await makeTunnel(server, "ann", { defaultPort: site.port, allowedPorts: "all" });
  await using client = start(server, ["-t", "app", "-e", String(site.port), "-e", String(sockets.port)]);
  const { ports } = await whenOpen(client);
  assert.deepEqual(ports.map(({ url }) => url), [tunnel.url, urlOfPort(tunnel, sockets.port)]);
  assert.equal(await text(`${tunnel.url}/text`), "hello");
  for await (const piece of (await visit(`${tunnel.url}/events`)).body) {
    assert.match(new TextDecoder().decode(piece), /data/);
    break;
  }
  await using socket = await openSocket(`${ports[1].url}/ws`);
  socket.send("over the second port");
  assert.equal(await socket.next(), "over the second port");
  const upgrade = await client.events.waitFor("upgrade");
  assert.equal(upgrade.port, sockets.port);
});

Deno.test("-t with -e exposes only that port", async () => {
  await using server = await startTunnelServer();
  await using site = startSite();
  const tunnel = await makeTunnel(server, "ann", { allowedPorts: [3000, site.port] });
  await using client = start(server, ["-t", "app", "-e", String(site.port)]);
  const [{ url }] = (await whenOpen(client)).ports;
  assert.equal(url, urlOfPort(tunnel, site.port));
  assert.equal(await text(`${url}/text`), "hello");
  assert.equal((await visit(tunnel.url)).headers["portway-error"], "tunnel_offline");
});

Deno.test("-t shares a folder, for writing too, and a site", async () => {
  await using server = await startTunnelServer();
  await using folder = await makeTempDir();
  await writeFile(join(folder.path, "index.html"), "<p>served</p>");
  const { url } = await makeTunnel(server, "ann");
  for (const [flag, path] of [["-f", "/index.html"], ["-fw", "/index.html"], ["-w", "/"]]) {
    await using client = start(server, ["-t", "app", flag, folder.path]);
    await whenOpen(client);
    assert.equal(await text(url + path), "<p>served</p>", flag);
    client.kill("SIGINT");
    assert.equal(await end(client), 0);
  }
});

Deno.test("what -t cannot carry is refused in one line before anything is opened", async () => {
  await using server = await startTunnelServer();
  const tunnel = await makeTunnel(server, "ann", { name: "shop", allowedPorts: [3000, 4000] });
  assert.deepEqual(await fail(server, ["-t", "shop", "-e", "5000"]), [
    1,
    'the tunnel "shop" does not allow port 5000, only 3000, 4000',
  ]);
  assert.deepEqual(await fail(server, ["-t", "x"]), [1, 'no tunnel matches "x": this account has shop']);
  assert.deepEqual(await fail(server, ["-t", "shop", "-e", "4000", "-e", "4000"]), [2, "-e: port 4000 is given twice"]);
  assert.deepEqual(await fail(server, ["-e", "3000", "-e", "4000"]), [
    2,
    "several -e go with -t: a tunnel without a login leads to one port",
  ]);
  assert.deepEqual(await fail(server, ["-t", "shop", "--resume"]), [
    2,
    "--resume: a persistent tunnel is opened with -t",
  ]);
  assert.deepEqual(await fail(server, ["-t", "shop"], { PORTWAY_TOKEN: "" }), [
    1,
    `this needs a login at ${server.url}: portway --login --server ${server.url}`,
  ]);
  await callApi(server, "ann", "PATCH", `/tunnels/${tunnel.id}`, { enabled: false });
  assert.deepEqual(await fail(server, ["-t", "shop"]), [
    1,
    'the tunnel "shop" is disabled: enable it on the server\'s website',
  ]);
  await callApi(server, "ann", "PATCH", `/tunnels/${tunnel.id}`, { enabled: true });
  server.members.add("ann", { plan: "free" });
  assert.deepEqual(await fail(server, ["-t", "shop"]), [1, "Persistent tunnels need a paid account."]);
});

Deno.test("a tunnel that is switched off, deleted or taken over while it is carried says so and ends", async () => {
  await using server = await startTunnelServer();
  await using site = startSite();
  const { id } = await makeTunnel(server, "ann", { defaultPort: site.port });
  {
    await using first = start(server, ["-t", "app"]);
    await whenOpen(first);
    await using second = start(server, ["-t", "app"]);
    await whenOpen(second);
    assert.equal((await first.events.waitFor("summary")).reason, "Another client of yours has taken this tunnel over.");
    assert.equal(await end(first), 0);
    await callApi(server, "ann", "PATCH", `/tunnels/${id}`, { enabled: false });
    assert.match(String((await second.events.waitFor("summary")).reason), /switched off/);
    assert.equal(await end(second), 1);
  }
  await callApi(server, "ann", "PATCH", `/tunnels/${id}`, { enabled: true });
  await using third = start(server, ["-t", "app"]);
  await whenOpen(third);
  await callApi(server, "ann", "DELETE", `/tunnels/${id}`);
  assert.equal((await third.events.waitFor("summary")).reason, "The tunnel was deleted.");
  assert.equal(await end(third), 1);
});

Deno.test("an allowance that runs low is told while a tunnel is carried and before, and one that is used up ends it", async () => {
  await using server = await startTunnelServer({ monthlyBytes: "1000000" });
  await using folder = await makeTempDir();
  await writeFile(join(folder.path, "large.bin"), new Uint8Array(850_000));
  const { url } = await makeTunnel(server, "ann");
  {
    await using client = start(server, ["-t", "app", "-f", folder.path]);
    await whenOpen(client);
    assert.equal((await (await visit(`${url}/large.bin`)).bytes()).length, 850_000);
    assert.match(String((await client.events.waitFor("note")).text), /^8\d % of this month's traffic is used\.$/);
    client.kill("SIGINT");
    assert.equal(await end(client), 0);
  }
  await using warned = start(server, ["-t", "app", "-f", folder.path]);
  assert((await whenOpen(warned)).usage.bytes > 850_000);
  assert.match(String((await warned.events.waitFor("note")).text), /^8\d % of this month's traffic is used\.$/);
  await visit(`${url}/large.bin`).then((answer) => answer.bytes()).catch(() => {});
  assert.match(String((await warned.events.waitFor("summary")).reason), /used up/);
  assert.equal(await end(warned), 1);
  const [code, line] = await fail(server, ["-t", "app", "-f", folder.path]);
  assert.equal(code, 1);
  assert.match(
    String(line),
    /^your traffic is used up: 1\.\d\d MB of 1\.00 MB this month; it starts again on \d{4}-\d\d-01$/,
  );
});

Deno.test("--tunnels-list prints all tunnels as JSON, and as lines without a question where nobody is at a terminal", async () => {
  await using server = await startTunnelServer();
  await using none = start(server, ["--tunnels-list"]);
  assert.deepEqual((await none.events.waitFor("tunnels")).tunnels, []);
  await makeTunnel(server, "ann", { name: "shop", allowedPorts: [3000, 4000] });
  await makeTunnel(server, "ann", { name: "blog", allowedPorts: "all", enabled: false });
  await using json = start(server, ["--tunnels-list"]);
  const tunnels = (await json.events.waitFor("tunnels")).tunnels as Record<string, unknown>[];
  assert.deepEqual(tunnels.map(({ name, enabled }) => [name, enabled]).sort(), [["blog", false], ["shop", true]]);
  const args = ["--tunnels-list", "--server", server.url, "--config-dir", "/nowhere"];
  await using lines = startProgram({ entry: "cli.ts", args, env: { PORTWAY_TOKEN: "ann" } });
  assert.equal(await end(lines), 0);
  assert.equal(lines.output.lines.length, 2);
  assert.match(lines.output.text, /[12] {2}shop {2}http:\S+ {2}on\b/);
  assert.equal(lines.errors.text, "");
});

Deno.test("a number typed at a terminal after --tunnels-list shows all of that tunnel, and Enter ends", async () => {
  await using server = await startTunnelServer();
  const { url } = await makeTunnel(server, "ann", { name: "shop", allowedPorts: [3000, 4000] });
  const { code, seen } = await runAtTerminal({
    args: ["--tunnels-list", "--server", server.url, "--config-dir", "/nowhere"],
    env: { PORTWAY_TOKEN: "ann" },
    question: "Number for details",
    answers: ["9", "1", ""],
  });
  assert.equal(code, 0, seen);
  assert.match(seen, /"9" is no number from 1 to 1\./);
  assert.match(
    seen,
    /Name +shop\r?\n +Default port +3000\r?\n +Allowed ports +3000, 4000\r?\n +Enabled +true\r?\n +Public URL +/,
  );
  assert(seen.includes(url));
});
