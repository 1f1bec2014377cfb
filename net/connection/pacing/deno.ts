import { yieldToEventLoop } from "../../../common/event_loop.ts";

/**
 * What may be asked for before the system is asked what else has come: what is there already comes at once, so whoever
 * sends without end would have all others wait, and all timers. A read counts 1, and so does each 8 KiB that it may
 * bring. Accepts count for themselves: newcomers do not wait for those who are there.
 */
export const IN_A_TURN = 96;
/** Writes of {@link LARGE} bytes and more, in the same time: a thousand of them to as many visitors take half a second. */
const LARGE_IN_A_TURN = 32;
const LARGE = 32 * 1024;
let inThisTurn = 0;
let largeInThisTurn = 0;

/** Whether a read into so many bytes may be asked for now; else it is for {@link readLater}. */
export function mayRead(bytes: number): boolean {
  const before = inThisTurn;
  inThisTurn += 1 + (bytes >> 13);
  // It is not set back in each turn, which would cost a callback a turn.
  if (before < IN_A_TURN && inThisTurn >= IN_A_TURN) void systemTurn().then(() => inThisTurn = 0);
  return inThisTurn < IN_A_TURN;
}

/** Whether so many bytes may be written now; else it is for {@link writeLater}. */
export function mayWrite(bytes: number): boolean {
  if (bytes < LARGE) return true;
  if (++largeInThisTurn === LARGE_IN_A_TURN) void systemTurn().then(() => largeInThisTurn = 0);
  return largeInThisTurn <= LARGE_IN_A_TURN;
}

/** What waits for its turn. */
export interface Waiting {
  /** Never throws. */
  goOn(): void;
}

let readers: Waiting[] = [];
let writers: Waiting[] = [];

/** Tells `one` after {@link systemTurn}: a promise for each would cost more than most reads. */
export function readLater(one: Waiting): void {
  if (readers.push(one) === 1) void systemTurn().then(tellReaders);
}

/** The same, a turn's worth at a time. */
export function writeLater(one: Waiting): void {
  if (writers.push(one) === 1) void systemTurn().then(tellWriters);
}

function tellReaders(): void {
  const all = readers;
  readers = [];
  for (const one of all) one.goOn();
}

function tellWriters(): void {
  const some = writers;
  writers = some.splice(LARGE_IN_A_TURN);
  if (writers.length > 0) void systemTurn().then(tellWriters);
  for (const one of some) one.goOn();
}

/** Two ends of one connection of this process to itself. */
interface Pair {
  readonly near: Deno.TcpConn;
  readonly far: Deno.TcpConn;
}

const BYTE = new Uint8Array(1);
/** Never filled: a read that fills its memory is tried again without asking the system whether there is more. */
const INTO = new Uint8Array(2);

let pair: Pair | null = null;
let isImpossible = false;
let asked: Promise<void> | null = null;

/**
 * Resolves when Deno has asked the system what has come, on all connections. While there is anything to do without that
 * it asks in one turn of the event loop out of 61 only, as its scheduler does: half a second may pass, in which
 * nobody new gets in, and nothing that was quiet is heard. What comes on a connection is known by asking alone, so a byte
 * is sent to this process by itself, and waited for. All who wait for the same answer share it.
 */
export function systemTurn(): Promise<void> {
  return asked ??= ask();
}

async function ask(): Promise<void> {
  try {
    if (isImpossible) return await yieldToEventLoop();
    pair ??= await openPair();
    const coming = pair.far.read(INTO);
    await pair.near.write(BYTE);
    await coming;
  } catch {
    // Without leave to listen, or descriptors: others get their turn in the end.
    isImpossible = true;
  } finally {
    asked = null;
  }
}

/** It lasts as long as this process. */
async function openPair(): Promise<Pair> {
  const hostname = "127.0.0.1";
  const listener = Deno.listen({ hostname, port: 0 });
  const [near, far] = await Promise.all([Deno.connect({ hostname, port: listener.addr.port }), listener.accept()])
    .finally(() => listener.close());
  const isOurs = far.remoteAddr.port === near.localAddr.port;
  if (isOurs) return { near, far };
  near.close();
  far.close();
  throw new Error("somebody else has connected");
}

/** Has a write to make. */
export interface Due {
  /** Never throws. */
  writeDue(): void;
}

let due: Due[] = [];

/**
 * Has `one` write once what has come for others, in this turn of the event loop, has been dealt with too. Making answers
 * and handing them to the system, one after the other, each throw the code of the other out of the processor's cache;
 * first all answers and then all writes take less.
 */
export function writeSoon(one: Due): void {
  if (due.push(one) === 1) void DONE.then(writeAll);
}

function writeAll(): void {
  const all = due;
  due = [];
  for (const one of all) one.writeDue();
}

const DONE = Promise.resolve();
