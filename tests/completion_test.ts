/** Completion as its users meet it: Tab in real shells, with the script that the program prints for each. */
import assert from "node:assert/strict";
import { openShell, type Shell } from "./kit/shells.ts";
import { isThere, runProgram } from "./kit.ts";

/** Lines, what is offered behind them, and what is not. */
const OFFERED: [line: string, offers: string[], others: string[]][] = [
  ["portway ", ["server", "proxy", "completion"], ["names"]],
  ["portway -", ["--expose", "-fw", "--show-qr", "--help"], ["--tls-cert"]],
  ["portway -e 3000 --h", ["--host-header", "--help"], ["--resume"]],
  ["portway server --l", ["--listener", "--log-level"], ["--live"]],
  ["portway server --listener ", ["edge", "deno"], ["--port"]],
  ["portway server --log-level ", ["debug", "warn"], ["edge"]],
  ["portway completion ", ["bash", "zsh", "fish"], ["server"]],
  ["portway -f ", ["my files"], ["server", "--help"]],
  ["portway -f . --spa ", ["my files"], []],
  ["portway -t ", ["shop", "blog"], ["bad"]],
  ["portway --views-tail ", ["0b8e6a52-6f0f", "77aa0c1d-21d3", "Orders"], ["shop"]],
];

/** Lines that one Tab ends, where the shell shows the line. */
const ENDED: [line: string, made: RegExp][] = [
  ["portway --show", /^portway --show-qr $/],
  ["portway serv", /^portway server ?$/],
  ["portway server --listener e", /^portway server --listener edge $/],
  ["portway server --listener=e", /^portway server --listener=edge $/],
  ["portway --views-tail 0b", /^portway --views-tail 0b8e6a52-6f0f $/],
  ["portway --views-tail Or", /^portway --views-tail Orders $/],
  ["portway -f my", /^portway -f my\\ files\/$/],
];

/** A server's API as completion asks it. */
function serveNames(): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    if (request.headers.get("authorization") !== "Bearer a-token") return new Response("no", { status: 401 });
    const { pathname } = new URL(request.url);
    const views = [["0b8e6a52-6f0f", "Orders"], ["77aa0c1d-21d3", "$(touch bad)"]];
    if (pathname === "/api/v1/views") return Response.json({ views: views.map(([id, name]) => ({ id, name })) });
    if (pathname !== "/api/v1/tunnels") return new Response("no", { status: 404 });
    const names = ["shop", "blog", "$(touch bad)", "bad one"];
    return Response.json({ tunnels: names.map((name) => ({ name, url: `https://${name}.example` })) });
  });
}

for (const name of ["bash", "zsh", "fish"] as const) {
  const ignore = !await isThere(name === "fish" ? name : "zsh", ["-c", "true"], `completion in ${name}`);
  Deno.test(
    { name: `${name} completes flags, values, commands, files, names of tunnels and views, and ids of views`, ignore },
    async (t) => {
      await using server = serveNames();
      const env = { PORTWAY_SERVER: `http://127.0.0.1:${server.addr.port}`, PORTWAY_TOKEN: "a-token" };
      await using shell = await openShell(name, env);
      await Deno.mkdir(`${shell.folder}/my files`);
      for (const [line, offers, others] of OFFERED) {
        await t.step(`behind "${line}"`, () => assertOffers(shell, line, offers, others));
      }
      for (const [line, made] of name === "fish" ? [] : ENDED) {
        await t.step(`"${line}" to its end`, async () => assert.match((await shell.complete(line)).line, made));
      }
      await t.step(
        "and runs nothing that a name says",
        () => assert.throws(() => Deno.statSync(`${shell.folder}/bad`)),
      );
    },
  );
}

async function assertOffers(shell: Shell, line: string, offers: string[], others: string[]): Promise<void> {
  const seen = await shell.complete(line);
  const shown = `${seen.shown.replaceAll(line, " ")} ${seen.line.slice(line.length)}`.replaceAll("\\ ", " ");
  const has = (word: string) => shown.includes(word);
  assert.deepEqual([offers.filter((word) => !has(word)), others.filter(has)], [[], []], shown);
}

Deno.test("names for completion: none, quickly and without a word, where nobody is logged in", async () => {
  for (const kind of ["tunnels", "views"]) {
    const args = ["completion", "names", kind];
    const ended = await runProgram({ entry: "cli.ts", args, env: { PORTWAY_CONFIG_DIR: "/nonexistent" } });
    assert.deepEqual(ended, { code: 0, output: "", errors: "" });
  }
});

Deno.test("a shell that there is no completion for is named", async () => {
  const { code, output, errors } = await runProgram({ entry: "cli.ts", args: ["completion", "tcsh"] });
  assert.deepEqual([code, output], [2, ""]);
  assert.match(errors, /^portway: cannot use "tcsh": one of bash, zsh, fish is wanted$/);
});
