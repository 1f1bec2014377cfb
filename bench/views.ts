/**
 * Compares request views, which store calls on disk before the response, with webhook-tester in memory and in files, in
 * one run. Also measures 100 open tails: `deno task bench:views [--seconds <n>] [--rounds <n>]`. Needs wrk. The program
 * looks for webhook-tester (https://github.com/tarampampam/webhook-tester) on PATH and marks its rows if it is missing.
 * webhook-tester keeps 128 calls by default and slows down with each one, so it also runs with a view's maximum.
 */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { startViewsServer } from "../tests/views_kit.ts";
import { parseWrk } from "./load/mod.ts";
import { readMemory } from "./measure/process_stats.ts";
import { median } from "./measure/stats.ts";
import { readOptions } from "./options.ts";
import { findFreePort } from "./programs/ports.ts";
import { runProgram, startProgram } from "./programs/process.ts";
import { formatTable } from "./report/table.ts";

const SENDERS = [1, 32, 128];
const TAILS = 100;
const CALLS_FOR_TAILS = 2000;
const UNLIMITED = ["--view-calls-per-minute", "2000000000"];

/** A destination for calls. */
interface Contestant extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
}

const values = readOptions({ seconds: { type: "string", default: "5" }, rounds: { type: "string", default: "3" } });
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "portway-bench-"));

async function startPortway(): Promise<Contestant> {
  const views = await startViewsServer({ args: UNLIMITED });
  const { captureUrl } = await views.addView();
  return {
    name: "portway, SQLite, keeps 10000",
    url: captureUrl,
    [Symbol.asyncDispose]: () => views[Symbol.asyncDispose](),
  };
}

/** @param kept number of stored calls: a view's maximum, or webhook-tester's default */
async function startWebhookTester(driver: "memory" | "fs", kept: number): Promise<Contestant | null> {
  if (await runProgram("sh", ["-c", "command -v webhook-tester"]) === null) return null;
  const port = await findFreePort();
  const args = ["start", "--addr", "127.0.0.1", "--port", String(port), "--storage-driver", driver];
  const limits = ["--max-requests", String(kept), "--fs-storage-dir", folder];
  const program = startProgram("webhook-tester", [...args, ...limits], { silent: true });
  const session = await askUntilUp(`http://127.0.0.1:${port}/api/session`);
  return {
    name: `webhook-tester, ${driver}, keeps ${kept}`,
    url: `http://127.0.0.1:${port}/${session}`,
    [Symbol.asyncDispose]: program.stop,
  };
}

async function askUntilUp(url: string): Promise<string> {
  const body = JSON.stringify({ status_code: 200, headers: [], delay: 0, response_body_base64: "" });
  for (let attempt = 0;; attempt++) {
    try {
      const answer = await fetch(url, { method: "POST", body, headers: { "content-type": "application/json" } });
      return (await answer.json()).uuid;
    } catch (error) {
      if (attempt === 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** Returns a wrk script with a webhook body in the usual size. */
function writeScript(): string {
  const file = path.join(folder, "post.lua");
  const body = JSON.stringify({ id: "evt_1", type: "charge.succeeded", data: { amount: 1999, text: "x".repeat(400) } });
  const lines = ['wrk.method = "POST"', `wrk.body = '${body}'`, 'wrk.headers["Content-Type"] = "application/json"'];
  fs.writeFileSync(file, lines.join("\n"));
  return file;
}

async function measure({ url }: Contestant, senders: number, script: string) {
  const args = ["-t1", `-c${senders}`, `-d${values.seconds}s`, "--latency", "-s", script, url];
  const text = await runProgram("wrk", args);
  if (text === null) throw new Error("wrk failed");
  return parseWrk(text);
}

async function measureAll(): Promise<string[][]> {
  await using stack = new AsyncDisposableStack();
  const script = writeScript(), contestants: Contestant[] = [stack.use(await startPortway())];
  for (const [driver, kept] of [["memory", 10_000], ["memory", 128], ["fs", 10_000]] as const) {
    const peer = await startWebhookTester(driver, kept);
    if (peer !== null) contestants.push(stack.use(peer));
  }
  const rows: string[][] = [];
  for (const senders of SENDERS) {
    const results = new Map(contestants.map((one) => [one, [] as Awaited<ReturnType<typeof measure>>[]]));
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const one of contestants) {
        await measure(one, senders, script).then((result) => results.get(one)?.push(result), (error) => {
          process.stderr.write(`${one.name}, ${senders} senders: ${error.message}\n`);
        });
      }
    }
    for (const [{ name }, all] of results) {
      const rate = Math.round(median(all.map(({ perSecond }) => perSecond)));
      const p99 = median(all.map(({ p99Ms }) => p99Ms)).toFixed(2);
      rows.push([
        String(senders),
        name,
        all.length === 0 ? "failed" : String(rate),
        all.length === 0 ? "" : `${p99} ms`,
      ]);
    }
    if (contestants.length === 1) rows.push([String(senders), "webhook-tester", "not on the PATH", ""]);
  }
  return rows;
}

/** Returns the server's memory without tails, with {@link TAILS} tails, and after calls to all of them. */
async function measureTails(): Promise<string[]> {
  await using views = await startViewsServer({ args: UNLIMITED });
  const { id, captureUrl } = await views.addView();
  const stop = new AbortController(), memory = () => `${Math.round(readMemory([views.server.pid]) / 1e6)} MB`;
  const send = async () => await (await fetch(captureUrl, { method: "POST", body: "x".repeat(500) })).text();
  for (let count = 0; count < 200; count++) await send();
  const before = memory();
  const tails = await Promise.all(
    Array.from({ length: TAILS }, () => views.ask(`/api/v1/views/${id}/stream`, { signal: stop.signal })),
  );
  const counted = tails.map((tail) => countEvents(tail, CALLS_FOR_TAILS));
  const open = memory();
  for (let count = 0; count < CALLS_FOR_TAILS; count += 20) await Promise.all(Array.from({ length: 20 }, send));
  await Promise.all(counted);
  const after = memory();
  stop.abort();
  return [before, open, after];
}

async function countEvents({ body }: Response, wanted: number): Promise<void> {
  let seen = 0, rest = "";
  for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const parts = (rest + piece).split("event: capture\n");
    rest = parts[parts.length - 1];
    seen += parts.length - 1;
    if (seen >= wanted) return;
  }
}

try {
  const rows = await measureAll();
  process.stdout.write(formatTable(["senders", "server", "calls a second", "p99"], rows) + "\n");
  const [before, open, after] = await measureTails();
  process.stdout.write(
    `Memory: ${before} without tails, ${open} with ${TAILS}, ${after} after ${CALLS_FOR_TAILS} calls to all of them\n`,
  );
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}
