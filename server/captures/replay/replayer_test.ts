import { deepEqual, equal, rejects } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { createLogger, silentLogger } from "../../../common/log.ts";
import type { ReplayedJson } from "../../../common/captures/capture_json.ts";
import type { Principal } from "../../access/mod.ts";
import { type OpenedCapture, StoreUnavailable } from "../../store/mod.ts";
import { Replayer, type ReplayerOptions, type SentRequest } from "./replayer.ts";

const CAPTURE: OpenedCapture = {
  viewId: "v",
  cursor: 1,
  receivedAt: 0,
  method: "DELETE",
  path: "/req/v/a",
  host: "x",
  httpVersion: "1.1",
  headers: ["Host", "x", "Content-Length", "0"],
  address: "::1",
  contentType: null,
  bodySize: 0,
  bodyId: null,
  trailers: [],
  body: new Uint8Array(0),
};
const who = (account: string): Principal => ({
  user: { id: "u", name: "u", email: "u@example.com", isAdmin: false },
  account: { id: account, name: account, plan: "free", role: "member" },
  scopes: new Set(),
  via: "token",
});

const note = () => Promise.resolve();

async function* nothing(): AsyncGenerator<Uint8Array, void> {}

const create = (send: ReplayerOptions["send"], timeoutMs?: number) =>
  new Replayer({ send, perMinute: 10, note, log: silentLogger, timeoutMs });
/** Sends requests one after the other. */
async function ask(
  replayer: Replayer,
  account = "a",
  signal = new AbortController().signal,
  service = new URL("http://h/base"),
): Promise<ReplayedJson> {
  const release = replayer.admit(account);
  try {
    const sent = { view: "Orders", capture: CAPTURE, service, body: nothing(), isEdited: false };
    return await replayer.send(who(account), sent, signal);
  } finally {
    release();
  }
}

/** Waits for the request's time limit. */
const hang = ({ ending }: SentRequest) => new Promise<never>((_, reject) => ending.onEnd(reject));

Deno.test("an address that does not answer in time is 504", async () => {
  await rejects(ask(create(hang, 20)), { status: 504, code: "upstream_timeout" });
});

Deno.test("who leaves before the answer is there is what the log tells, and no time that was up", async () => {
  const lines: string[] = [];
  const log = createLogger({ write: (line) => void lines.push(line) });
  const replayer = new Replayer({ send: hang, perMinute: 10, note, log }), leave = new AbortController();
  const sent = ask(replayer, "a", leave.signal);
  leave.abort();
  await rejects(sent, { status: 499, code: "caller_gone" });
  equal(lines.filter((line) => line.includes("capture_not_replayed") && line.includes("caller_gone")).length, 1);
});

Deno.test("what cannot be written into the audit log hides neither the answer nor why there is none, and the log says so", async () => {
  const lines: string[] = [];
  const log = createLogger({ write: (line) => void lines.push(line) });
  const fails = { perMinute: 10, note: () => Promise.reject(new StoreUnavailable("the disk is full")), log };
  const body = { take: () => Promise.resolve(null), cancel: () => {} };
  const send = () => Promise.resolve({ status: 201, statusText: "Created", headers: [], body });
  equal((await ask(new Replayer({ ...fails, send }))).status, 201);
  await rejects(ask(new Replayer({ ...fails, send: hang, timeoutMs: 20 })), { status: 504, code: "upstream_timeout" });
  equal(lines.filter((line) => /not_noted .*the disk is full/.test(line)).length, 2, lines.join(""));
});

Deno.test("the audit log is told the host before all else, so that the longest is not cut there", async () => {
  const host = `${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(61)}:65535`, noted: string[] = [];
  const body = { take: () => Promise.resolve(null), cancel: () => {} };
  const replayer = new Replayer({
    send: () => Promise.resolve({ status: 200, statusText: "OK", headers: [], body }),
    perMinute: 10,
    note: (_, __, subject) => Promise.resolve(void noted.push(subject)),
    log: silentLogger,
  });
  await ask(replayer, "a", undefined, new URL(`http://${host}/hooks`));
  deepEqual(noted, [`${host}, from Orders`]);
});

Deno.test("an account has two of its captures sent at a time, and all together sixteen", async () => {
  const ends: (() => void)[] = [];
  const replayer = create(() => new Promise((_, reject) => ends.push(() => reject(new Error("over")))));
  const running = Array.from({ length: 16 }, (_, at) => ask(replayer, `account ${at >> 1}`));
  await rejects(ask(replayer, "account 0"), { status: 429, code: "replay_busy" });
  await rejects(ask(replayer, "another"), { status: 429, code: "replay_busy" });
  ends[0]();
  await rejects(running[0], /over/);
  running.push(ask(replayer, "account 0"));
  for (const end of ends) end();
  equal((await Promise.allSettled(running)).length, 17);
});

Deno.test("an empty body that was announced is announced again, and an answer that breaks off is told as far as it came", async () => {
  const sent: SentRequest[] = [];
  let taken = 0, isCancelled = false;
  const body = {
    take: () => taken++ === 0 ? Promise.resolve([Uint8Array.of(104, 105)]) : Promise.reject(new Error("broken")),
    cancel: () => void (isCancelled = true),
  };
  const replayed = await ask(create((request) => {
    sent.push(request);
    return Promise.resolve({ status: 200, statusText: "OK", headers: [], body });
  }));
  deepEqual([atob(replayed.body), replayed.bodyTruncated, replayed.url], ["hi", true, "http://h/base/a"]);
  deepEqual([sent[0].body, sent[0].target], [new Uint8Array(0), { host: "h", pathname: "/base/a", search: "" }]);
  equal(sent[0].headers.filter(([name]) => name === "Content-Length").length, 1);
  equal(isCancelled, true);
});

Deno.test("what is in an answer under its coding is told beside it, as far as it goes", async () => {
  const answer = (coding: string, bytes: Uint8Array) => {
    const chunks = [[bytes], null];
    const body = { take: () => Promise.resolve(chunks.shift() ?? null), cancel: () => {} };
    return create(() =>
      Promise.resolve({ status: 200, statusText: "OK", headers: [["Content-Encoding", coding]], body })
    );
  };
  const told = async (coding: string, bytes: Uint8Array) => {
    const { decoded, decodedTruncated } = await ask(answer(coding, bytes));
    return [decoded === undefined ? null : atob(decoded), decodedTruncated];
  };
  deepEqual(await told("br", brotliCompressSync("thanks")), ["thanks", undefined]);
  deepEqual(await told("gzip, br", brotliCompressSync(gzipSync("thanks"))), ["thanks", undefined]);
  deepEqual(await told("br", Buffer.from("no such thing")), [null, undefined]);
  deepEqual(await told("compress", Buffer.from("thanks")), [null, undefined]);
  deepEqual(await told("identity", Buffer.from("thanks")), [null, undefined]);
  const [text, isCut] = await told("gzip", gzipSync("x".repeat(10_000_000)));
  deepEqual([String(text).length <= 512 * 1024, String(text).length > 400 * 1024, isCut], [true, true, true]);
  const random = crypto.getRandomValues(new Uint8Array(60_000));
  const cut = await ask(answer("gzip", Buffer.concat([gzipSync(random), gzipSync(random)])));
  deepEqual([cut.bodyTruncated, cut.decodedTruncated], [true, true]);
});
