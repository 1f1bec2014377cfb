import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Buffer } from "node:buffer";
import { answerEmpty, GET, HEAD, ignore, POST, turn, UPGRADING, visitor, writeText } from "./_link.ts";
import { END, FrameType, OVERDRAW, RAW, UPGRADE } from "./frames.ts";
import { HEARTBEAT_MS, INITIAL_WINDOW, MAX_HEAD, OVERDRAFT } from "./limits.ts";
import { ByteBudget } from "./flow.ts";
import { Mux, type MuxOptions } from "./mux.ts";
import type { GoAwayReason, ResetReason } from "./reasons.ts";
import type { MuxStream } from "./stream.ts";
import { Opening, type StreamHandler, type StreamOpening } from "./types.ts";

/** An entry of testdata/frames.json: one frame as bytes, and what they mean. docs/reference/protocol.md says how to read it. */
interface GoldenFrame {
  description: string;
  from: "relay" | "client";
  type: string;
  flags: (keyof typeof FLAGS)[];
  stream: number;
  /** Of heads, bodies and messages every character is a byte; texts are text. */
  fields: {
    head: string;
    status: number;
    body: string;
    bytes: string | number;
    code: number;
    text: string;
    hex: string;
  };
  hex: string;
}

const FLAGS = { END, UPGRADE, OVERDRAW, RAW };
// The file is ours and this test's own subject: what does not fit this type fails below.
const frames = JSON.parse(
  readFileSync(new URL("./testdata/frames.json", import.meta.url), "utf8"),
) as GoldenFrame[];

const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
const toText = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");
const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const toBytes = (hex: string) => new Uint8Array(Buffer.from(hex, "hex"));

/** One end that writes into `sent`, with stream `id` open where that is not 0. */
async function createEnd(
  from: "relay" | "client",
  id: number,
  handler: StreamHandler,
  upgrade: boolean,
  more: Partial<MuxOptions> = {},
) {
  const sent: Uint8Array[] = [];
  let stream: MuxStream | null = null;
  let time = 0;
  const options: MuxOptions = {
    maxStreams: 10,
    maxUpgrades: 10,
    lastId: Math.max(0, id - 1),
    now: () => time,
    transport: { send: (buffer, start, end) => void sent.push(buffer.slice(start, end)) },
    onEnd: (_reason, text) => assert.fail(text),
    ...more,
  };
  const mux = new Mux(
    from === "relay" ? options : {
      onOpen(opened) {
        stream = opened;
        return handler;
      },
      ...options,
    },
  );
  if (id !== 0 && from === "relay") stream = mux.open(upgrade ? UPGRADING : POST, HEAD, handler);
  if (id !== 0 && from === "client" && more.onOpen === undefined) {
    const request = new Uint8Array(10);
    new DataView(request.buffer).setUint8(4, FrameType.request);
    new DataView(request.buffer).setUint32(6, id);
    if (upgrade) request[5] = UPGRADE;
    mux.receive(request, 0, request.length);
  }
  await turn();
  sent.length = 0;
  return { mux, sent, stream: stream as MuxStream | null, pass: (ms: number) => time += ms };
}

/** The opening that a REQUEST with these flags names. */
function findOpening(flags: GoldenFrame["flags"]): StreamOpening {
  if (flags.includes("RAW")) return Opening.raw;
  if (flags.includes("UPGRADE")) return Opening.upgrade;
  return flags.includes("END") ? Opening.bodyless : Opening.withBody;
}

/** What our mux writes when it is asked for what `frame` says. */
async function write({ from, type, flags, stream: id, fields }: GoldenFrame): Promise<Uint8Array> {
  const has = (flag: keyof typeof FLAGS) => flags.includes(flag);
  const isRequest = type === "REQUEST";
  const end = await createEnd(
    from,
    isRequest ? 0 : id,
    from === "relay" ? visitor() : ignore(),
    fields.status === 101,
    {
      lastId: Math.max(0, id - 1),
      overdraft: new ByteBudget(has("OVERDRAW") ? OVERDRAFT : 0),
    },
  );
  const { mux } = end, stream = end.stream!;
  const body = latin1(fields.body ?? ""), bytes = latin1(String(fields.bytes ?? ""));
  // A body comes after its response.
  if (from === "client" && (type === "DATA" || type === "TRAILERS")) {
    answerEmpty(stream, false);
    await turn();
    end.sent.length = 0;
  }
  switch (type) {
    case "REQUEST":
      mux.open(findOpening(flags), writeText(fields.head), visitor());
      break;
    case "RESPONSE": {
      const head = latin1(fields.head), { status } = fields;
      if (status < 200 && status !== 101) stream.inform(status, head, 0, head.length);
      else stream.respond(status, head, 0, head.length, body, 0, body.length, has("END"));
      break;
    }
    case "DATA":
      await stream.write(bytes, has("END"));
      break;
    case "TRAILERS":
      stream.end(bytes);
      break;
    case "RESET":
      // The file names codes as numbers, as the wire does.
      stream.reset(fields.code as ResetReason, fields.text);
      break;
    case "CREDIT":
      mux.outbox.putCredit(id, Number(fields.bytes));
      break;
    case "PING":
      end.pass(HEARTBEAT_MS);
      mux.beat();
      break;
    case "PONG":
      mux.receive(Uint8Array.of(0, 0, 0, 8, FrameType.ping, 0, 0, 0, 0, 0, ...toBytes(fields.hex)), 0, 18);
      break;
    case "GOAWAY":
      mux.sendGoAway(fields.code as GoAwayReason, fields.text);
      break;
    case "NOTICE":
      mux.sendNotice(fields.code, fields.text);
  }
  await turn();
  return Uint8Array.from(end.sent.flatMap((message) => [...message]));
}

/** What our mux makes of the frame's bytes at the other end, in the words of the file. */
async function read(golden: GoldenFrame): Promise<unknown> {
  let seen: unknown;
  const flagsOf = (some: Partial<Record<keyof typeof FLAGS, boolean>>) =>
    Object.entries(some).filter(([, is]) => is).map(([name]) => name);
  const handler = {
    onData: (piece: Uint8Array, end: boolean) => seen = ["DATA", flagsOf({ END: end }), { bytes: toText(piece) }],
    onTrailers: (bytes: Uint8Array, start: number, end: number) =>
      seen = ["TRAILERS", [], { bytes: toText(bytes.subarray(start, end)) }],
    onReset: (code: number, text: string) => seen = ["RESET", [], { code, text }],
  };
  const relayHandler: StreamHandler = {
    ...handler,
    onInterim(status, bytes, start, end) {
      seen = ["RESPONSE", [], { status, head: toText(bytes.subarray(start, end)), body: "" }];
    },
    onResponse(status, bytes, headStart, headEnd, payloadEnd, end) {
      const head = toText(bytes.subarray(headStart, headEnd)), body = toText(bytes.subarray(headEnd, payloadEnd));
      seen = ["RESPONSE", flagsOf({ END: end }), { status, head, body }];
    },
  };
  const isRelay = golden.from === "client";
  const onGoAway = (code: number, text: string) => seen = ["GOAWAY", [], { code, text }];
  const onNotice = (code: number, text: string) => seen = ["NOTICE", [], { code, text }];
  const onOpen: MuxOptions["onOpen"] = (stream, bytes, start, end, { kind, end: isEnd }) => {
    assert.equal(stream.id, golden.stream);
    const head = toText(bytes.subarray(start, end));
    const OVERDRAW = stream.room > INITIAL_WINDOW;
    const marks = { END: isEnd, UPGRADE: kind === "upgrade", OVERDRAW, RAW: kind === "raw" };
    seen = ["REQUEST", flagsOf(marks), { head }];
    return ignore();
  };
  const more = { onGoAway, onNotice, ...(golden.type === "REQUEST" && { onOpen }) };
  const end = await createEnd(
    isRelay ? "relay" : "client",
    golden.stream,
    isRelay ? relayHandler : handler,
    golden.fields.status === 101,
    more,
  );
  // A body comes behind the answer.
  if (isRelay && (golden.type === "DATA" || golden.type === "TRAILERS")) {
    end.mux.receive(Uint8Array.of(0, 0, 0, 4, FrameType.response, 0, 0, 0, 0, golden.stream, 0, 200, 0, 0), 0, 14);
  }
  const room = () => end.stream?.room;
  if (golden.type === "CREDIT" && golden.stream === 0) sendOnStreams(end.mux, Number(golden.fields.bytes));
  end.mux.receive(toBytes(golden.hex), 0, golden.hex.length / 2);
  await turn();
  // Nor of what was taken in, where so much was sent.
  if (golden.type === "CREDIT" && golden.stream === 0) seen = ["CREDIT", [], golden.fields];
  else if (golden.type === "CREDIT") seen = ["CREDIT", [], { bytes: await measureCredit(end.stream!, room) }];
  if (golden.type === "PING") seen = ["PING", [], { hex: toHex(end.sent[0].subarray(10)) }];
  // Nothing is to be seen of a PONG but that it is taken.
  if (golden.type === "PONG") seen = ["PONG", [], golden.fields];
  return seen;
}

/** Sends at least so many bytes on streams, as a relay. */
function sendOnStreams(mux: Mux, bytes: number): void {
  for (let sent = 0; sent < bytes; sent += MAX_HEAD) mux.open(GET, writeText("x".repeat(MAX_HEAD)), visitor());
}

/** What may be sent now beyond the initial window. */
async function measureCredit(stream: MuxStream, room: () => number | undefined): Promise<number> {
  let sum = 0;
  for (let size = room() ?? 0; size > 0; size = room() ?? 0) {
    if (stream.status === 0 && sum === 0) answerEmpty(stream, false);
    await stream.write(new Uint8Array(size));
    sum += size;
    await turn();
  }
  return sum - INITIAL_WINDOW;
}

for (const golden of frames) {
  Deno.test(`golden frame: ${golden.type} from the ${golden.from}: ${golden.description}`, async () => {
    assert.equal(toHex(await write(golden)), golden.hex);
    assert.deepEqual(await read(golden), [golden.type, golden.flags, golden.fields]);
  });
}

Deno.test("golden frames show every type and every flag", () => {
  const shown = new Set(frames.flatMap(({ type, flags }) => [type, ...flags]));
  const types = Object.keys(FrameType).map((name) => name.toUpperCase());
  assert.deepEqual([...shown].sort(), [...types, ...Object.keys(FLAGS)].sort());
});

Deno.test("the session in bytes of docs/reference/protocol.md is made of golden frames", () => {
  const text = readFileSync(new URL("../docs/reference/protocol.md", import.meta.url), "utf8");
  const shown = [...text.matchAll(/^```\n(0000[^`]*)^```/gm)].map(([, block]) => block).join("").split(/^(?=0000)/m);
  assert.equal(shown.length, 4);
  for (const lines of shown) {
    const hex = lines.split("\n").map((line) => /^ *((?:[0-9a-f]{4,} ?|\d\d )*)/.exec(line)![1].replaceAll(" ", ""))
      .join("");
    assert(frames.some((frame) => frame.hex === hex), hex);
  }
});
