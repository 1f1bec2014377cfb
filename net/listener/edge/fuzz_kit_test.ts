/** A real listener held to the slow reader. For the test beside it and for `deno task fuzz`. */
import { deepEqual } from "node:assert/strict";
import { connect } from "node:net";
import { cut, MOST_FIELDS } from "../../http1/_fuzz.ts";
import { type ConnectionReading, readConnection } from "../../http1/_reference_request.ts";
import { decodeLatin1 } from "../../http1/mod.ts";
import { silentLogger } from "../../../common/log.ts";
import { within } from "../contract_kit_test.ts";
import type { Exchange } from "../types.ts";
import { listenEdge } from "./listen.ts";

/** Sends what connections carry to a listener, and compares what its handler gets. */
export interface EdgeFuzzer extends AsyncDisposable {
  /** @throws AssertionError when the handler got anything else than the slow reader reads in `text` */
  check(text: string, sizes: readonly number[]): Promise<void>;
  /** Resolves when no check is under way: a run that was interrupted leaves one. */
  idle(): Promise<void>;
}

/** Opens a listener to be fuzzed. */
export async function openEdgeFuzzer(): Promise<EdgeFuzzer> {
  let seen: string[] = [];
  const errors: string[] = [];
  const handler = async (exchange: Exchange) => {
    let body = "";
    for (let piece = await exchange.readBody(); piece !== null; piece = await exchange.readBody()) {
      body += decodeLatin1(piece, 0, piece.length);
    }
    const { method, path, host, httpVersion, rawHeaders, upgrade } = exchange;
    seen.push(describe({ method, target: path, host, httpVersion, fields: rawHeaders, upgrade, body }));
    return new Response("seen");
  };
  const log = { ...silentLogger, error: (event: string) => void errors.push(event) };
  const listener = await listenEdge(
    { hostname: "127.0.0.1", port: 0, limits: { maxFields: MOST_FIELDS }, log },
    handler,
  );
  const check = async (text: string, sizes: readonly number[]) => {
    seen = [];
    await within(send(listener.port, text, sizes));
    while (listener.connections > 0) await new Promise((resolve) => setTimeout(resolve, 0));
    const wanted = readConnection(text, MOST_FIELDS).map(describeReading);
    deepEqual({ text, seen, errors: errors.splice(0) }, { text, seen: wanted, errors: [] });
  };
  let last = Promise.resolve();
  return {
    check(text, sizes) {
      const checked = last.then(() => check(text, sizes));
      // The next one has a listener that is at rest, whatever this one finds.
      last = checked.catch(() => {});
      return checked;
    },
    idle: () => last,
    async [Symbol.asyncDispose]() {
      listener.abort();
      await listener.close();
    },
  };
}

const describe = (...parts: unknown[]) => JSON.stringify(parts);

function describeReading({ request, body }: ConnectionReading): string {
  const { method, path: target, host, minorVersion, fields } = request;
  const upgrade = request.framing === "none" ? request.upgrade : null;
  return describe({ method, target, host, httpVersion: `1.${minorVersion}`, fields: fields.flat(), upgrade, body });
}

/** Sends a text in pieces, and resolves when the listener has ended the connection. */
async function send(port: number, text: string, sizes: readonly number[]): Promise<void> {
  const socket = connect(port, "127.0.0.1").setNoDelay(true);
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()).on("error", () => {}));
  socket.resume();
  for (const piece of cut(text, sizes)) {
    if (!socket.writable) break;
    await new Promise((resolve) => socket.write(piece, "latin1", resolve));
  }
  socket.end();
  await closed;
}
