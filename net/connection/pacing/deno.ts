import { yieldToEventLoop } from "../../../common/event_loop.ts";

/**
 * Read weight before the system is polled for other events. Available data is delivered at once, so a fast sender would
 * otherwise delay all others and all timers. A read counts 1, plus 1 for each 8 KiB of its buffer. Accepts count
 * separately, so that new peers do not wait for existing ones.
 */
export const IN_A_TURN = 96;
/** Writes with at least {@link LARGE} bytes in the same time: a thousand of them take half a second. */
const LARGE_IN_A_TURN = 32;
const LARGE = 32 * 1024;
let inThisTurn = 0;
let largeInThisTurn = 0;

/** Reports whether a read with so many bytes may start now; otherwise use {@link readLater}. */
export function mayRead(bytes: number): boolean {
  const before = inThisTurn;
  inThisTurn += 1 + (bytes >> 13);
  // Resetting it in each iteration would cost a callback.
  if (before < IN_A_TURN && inThisTurn >= IN_A_TURN) void systemTurn().then(() => inThisTurn = 0);
  return inThisTurn < IN_A_TURN;
}

/** Reports whether so many bytes may be written now; otherwise use {@link writeLater}. */
export function mayWrite(bytes: number): boolean {
  if (bytes < LARGE) return true;
  if (++largeInThisTurn === LARGE_IN_A_TURN) void systemTurn().then(() => largeInThisTurn = 0);
  return largeInThisTurn <= LARGE_IN_A_TURN;
}

/** A waiting operation. */
export interface Waiting {
  /** Never throws. */
  goOn(): void;
}

let readers: Waiting[] = [];
let writers: Waiting[] = [];

/** Calls `one` after {@link systemTurn}. A promise for each would cost more than most reads. */
export function readLater(one: Waiting): void {
  if (readers.push(one) === 1) void systemTurn().then(tellReaders);
}

/** The same for writes, a limited number at a time. */
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

/** Both ends of a connection from this process to itself. */
interface Pair {
  readonly near: Deno.TcpConn;
  readonly far: Deno.TcpConn;
}

const BYTE = new Uint8Array(1);
/** Never filled: a read that fills its buffer is repeated without polling the system. */
const INTO = new Uint8Array(2);

let pair: Pair | null = null;
let isImpossible = false;
let asked: Promise<void> | null = null;

/**
 * Resolves when Deno has polled the system for events on all connections. While busy, its scheduler polls in one of 61
 * event loop iterations only, which can take half a second without new peers or quiet connections. A poll is visible
 * only through its events, so this process sends itself a byte and waits for it. All waiting callers share it.
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
    // Without permission to listen, or without descriptors, the others continue eventually.
    isImpossible = true;
  } finally {
    asked = null;
  }
}

/** Lasts as long as the process. */
async function openPair(): Promise<Pair> {
  const hostname = "127.0.0.1";
  const listener = Deno.listen({ hostname, port: 0 });
  const [near, far] = await Promise.all([Deno.connect({ hostname, port: listener.addr.port }), listener.accept()])
    .finally(() => listener.close());
  const isOurs = far.remoteAddr.port === near.localAddr.port;
  if (isOurs) return { near, far };
  near.close();
  far.close();
  throw new Error("another program connected");
}

/** An object with a due write. */
export interface Due {
  /** Never throws. */
  writeDue(): void;
}

let due: Due[] = [];

/**
 * Makes `one` write in this event loop iteration, after other received data has been processed. Alternating between
 * creating responses and writing them evicts code from the processor's cache; all responses first and then all writes
 * cost less.
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
