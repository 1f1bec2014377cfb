import assert from "node:assert/strict";
import type { LineWriter } from "../../common/output/mod.ts";
import { createTextScreen, type TextScreenOptions } from "./text_screen.ts";

/** A writer that keeps its lines. */
function collect(): LineWriter & { lines: string[] } {
  const lines: string[] = [];
  return { lines, write: (...parts) => void lines.push(parts.join("")), flush: () => Promise.resolve() };
}

const NOW = new Date(2026, 0, 2, 3, 4, 5).getTime();

function createScreen(options: Partial<TextScreenOptions> = {}) {
  const out = collect(), errors = collect();
  const screen = createTextScreen({
    out,
    errors,
    color: false,
    colorErrors: false,
    showQr: false,
    now: () => NOW,
    ...options,
  });
  return { screen, out, errors };
}

const HOUR_MS = 3_600_000;

Deno.test("createTextScreen shows when a tunnel ends, with the date where the time of day says too little", async () => {
  const cases = [
    [HOUR_MS, "04:04:05, in 60 minutes"],
    [60_000, "03:05:05, in 1 minute"],
    [24 * HOUR_MS, "03:04:05, in 1440 minutes"],
    [30 * 24 * HOUR_MS, "2026-02-01 03:04:05, in 30 days"],
  ] as const;
  for (const [left, shown] of cases) {
    const { screen, out } = createScreen();
    await screen.opened({ id: "i", url: "http://a.example", target: "t", expiresAt: NOW + left, resumed: false });
    assert.equal(out.lines.find((line) => line.includes("Expires")), `  Expires           ${shown}`);
  }
});

Deno.test("createTextScreen colours each output by what it leads to", () => {
  const { screen, out, errors } = createScreen({ color: true });
  screen.request({ method: "GET", path: "/", status: 200, durationMs: 1, bytes: 1, upgrade: null });
  screen.reconnecting("it broke", 500);
  assert(out.lines[0].includes("\x1b[32m200\x1b[0m"));
  assert.deepEqual(errors.lines, ["Connection lost: it broke. Trying again in 500ms."]);
});

Deno.test("createTextScreen ends a reason with one full stop, whether it had its own or none", () => {
  const { screen, errors } = createScreen();
  for (const reason of ["The server is restarting.", "The server is restarting"]) {
    screen.reconnecting(reason, 500);
    screen.reconnected();
  }
  const line = "Connection lost: The server is restarting. Trying again in 500ms.";
  const back = "Connected again, under the same URL.";
  assert.deepEqual(errors.lines, [line, back, line, back]);
});

Deno.test("createTextScreen reports a lost connection once, and again after ten seconds", () => {
  const clock = { time: NOW };
  const { screen, errors } = createScreen({ now: () => clock.time });
  for (const [time, reason] of [[0, "restarting"], [200, "refused"], [9_999, "refused"], [10_000, "refused still"]]) {
    clock.time = NOW + Number(time);
    screen.reconnecting(String(reason), 500);
  }
  screen.reconnected();
  screen.reconnecting("broke", 500);
  assert.deepEqual(errors.lines.map((text) => text.split(".")[0]), [
    "Connection lost: restarting",
    "Connection lost: refused still",
    "Connected again, under the same URL",
    "Connection lost: broke",
  ]);
});

Deno.test("createTextScreen shows a QR code where it fits, and says so where it does not", async () => {
  const opened = { id: "i", url: "http://a.example", target: "t", expiresAt: NOW, resumed: false };
  const isQr = (line: string) => line.includes("\u2584\u2580");
  for (const color of [false, true]) {
    const fits = createScreen({ color, showQr: true });
    await fits.screen.opened(opened);
    const code = fits.out.lines.find(isQr) ?? "";
    // deno-lint-ignore no-control-regex -- what is left out
    const [line] = code.slice(1).replace(/\x1b\[[\d;]*m/g, "").split("\n");
    const exact = createScreen({ color, showQr: true, columns: line.length });
    await exact.screen.opened(opened);
    assert.deepEqual(exact.out.lines, fits.out.lines);
    const narrow = createScreen({ color, showQr: true, columns: line.length - 1 });
    await narrow.screen.opened(opened);
    assert(!narrow.out.lines.some(isQr));
    assert.match(narrow.errors.lines.join(), new RegExp(`^The QR code needs .* ${line.length} columns`));
  }
});

Deno.test("createTextScreen shows the URL below a QR code, which scrolls the lines above it away", async () => {
  const { screen, out } = createScreen({ showQr: true });
  await screen.opened({ id: "i", url: "http://a.example", target: "t", expiresAt: NOW, resumed: false });
  const code = out.lines.findIndex((line) => line.includes("\u2584\u2580"));
  assert(code >= 0);
  assert(out.lines.slice(code + 1).some((line) => line.includes("http://a.example")));
});

Deno.test("createTextScreen shows the reason for a missing response, made safe", () => {
  const { screen, out } = createScreen();
  const line = { method: "GET", path: "/", durationMs: 1, bytes: 1, upgrade: null };
  screen.request({ ...line, status: 502, reason: "The local service does not speak HTTP. \x1b[2J" });
  screen.request({ ...line, status: 200, reason: null });
  assert.match(out.lines[0], / GET \/ 502 1\.0ms The local service does not speak HTTP\. \?\[2J$/);
  assert.match(out.lines[1], / GET \/ 200 1\.0ms$/);
});

Deno.test("createTextScreen lets nobody steer the terminal", () => {
  const { screen, out, errors } = createScreen();
  screen.request({ method: "GET", path: "/\x1b[2J\x9b", status: 200, durationMs: 1, bytes: 1, upgrade: null });
  screen.reconnecting("\x1b[2J", 500);
  screen.note("\x9b31m");
  // deno-lint-ignore no-control-regex -- what is looked for
  for (const line of [...out.lines, ...errors.lines]) assert.doesNotMatch(line, /[\x00-\x1f\x7f-\x9f]/);
  assert.match(out.lines[0], /GET \/%1B\[2J%9B 200 /);
});

Deno.test("createTextScreen shows a persistent tunnel with each of its ports, and the port of each request", async () => {
  const { screen, out } = createScreen();
  const ports = [3000, 4000].map((port) => ({
    port,
    url: `http://a--${port}.example`,
    target: `http://localhost:${port}`,
  }));
  const usage = { text: "1.20 GB of 25.0 GB this month", bytes: 1.2e9, bytesLimit: 25e9 };
  await screen.openedPersistent({ id: "i", name: "shop\x1b[2J", ports, usage });
  screen.request({ method: "GET", path: "/", status: 200, durationMs: 1, bytes: 1, upgrade: null, port: 4000 });
  assert.deepEqual(out.lines.slice(1, 7), [
    "  Tunnel            shop?[2J",
    "  Public endpoint   http://a--3000.example",
    "  Local service     http://localhost:3000",
    "  Public endpoint   http://a--4000.example",
    "  Local service     http://localhost:4000",
    "  Data used         1.20 GB of 25.0 GB this month",
  ]);
  assert.match(out.lines.at(-1) ?? "", / GET \/ 200 1\.0ms :4000$/);
});
