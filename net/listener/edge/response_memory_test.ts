import assert from "node:assert/strict";
import { acquireBuffer } from "../../../common/buffers/buffer_pool.ts";
import type { Connection } from "../../connection/mod.ts";
import { silentLogger } from "../../../common/log.ts";
import { yieldToEventLoop } from "../../../common/event_loop.ts";
import { DEFAULT_LIMITS } from "../limits.ts";
import { EdgeConnection, type ListenerContext } from "./connection.ts";

const HEAD = new TextEncoder().encode("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
const BLOCK = new TextEncoder().encode("OK\r\n");

/** Answers one request with a body of so many bytes, and gives the memory that it was written from. */
async function answer(size: number, isTaken: boolean): Promise<ArrayBufferLike> {
  let written: ArrayBufferLike = new ArrayBuffer(0), reads = 0;
  const connection: Connection = {
    read(into) {
      if (reads++ > 0) return new Promise(() => {});
      into.set(HEAD);
      return Promise.resolve(HEAD.length);
    },
    write(bytes) {
      written = bytes.buffer;
      return isTaken ? Promise.resolve() : Promise.reject(new Error("the visitor left"));
    },
    closeWrite: () => Promise.resolve(),
    close() {},
  };
  const front: ListenerContext = {
    limits: DEFAULT_LIMITS,
    traffic: null,
    log: silentLogger,
    tick: 0,
    forget() {},
    handler({ response }) {
      response.begin(200, BLOCK, size, new Uint8Array(size), true);
      return null;
    },
  };
  new EdgeConnection(front, connection, "127.0.0.1", "127.0.0.1", false).start();
  for (let turn = 0; turn < 5; turn++) await yieldToEventLoop();
  return written;
}

for (const isTaken of [true, false]) {
  const how = isTaken ? "was taken" : "could not be written";
  Deno.test(`the memory of an answer that ${how} is given back, whatever its size`, async () => {
    for (const size of [100, 20_000]) {
      const memory = await answer(size, isTaken);
      assert(acquireBuffer(size + 160).buffer === memory, `${size} bytes`);
    }
    assert.equal((await answer(300_000, isTaken) as ArrayBuffer).detached, true);
  });
}
