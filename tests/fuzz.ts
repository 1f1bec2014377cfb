/**
 * Holds the readers of heads and bodies, and a real listener, to a slow and obvious reader, with random and broken
 * requests: 5 minutes, or `--seconds N`. Ends with code 1 at the first difference, which it prints with the seed that
 * brings it about again. Runs on Deno and on Node.
 */
import process from "node:process";
import fc from "fast-check";
import {
  assertAsReference,
  assertChunkedAsReference,
  chunkedBody,
  connectionText,
  mutations,
  pieceSizes,
  request,
  soup,
  write,
} from "../net/http1/_fuzz.ts";
import { openEdgeFuzzer } from "../net/listener/edge/fuzz_kit_test.ts";

const DEFAULT_SECONDS = 300;
/** The listener takes most of the time: a connection each. */
const ROUND_MS = 5_000;

const brokenHead = fc.tuple(request, mutations()).map(([made, mutate]) => mutate(write(made)));
const brokenBody = fc.tuple(chunkedBody, mutations()).map(([text, mutate]) => mutate(text));

/** Runs for a while, and says how often. */
async function run<T>(property: fc.IAsyncProperty<T>): Promise<number> {
  const limits = { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: ROUND_MS, markInterruptAsFailure: false };
  const result = await fc.check(property, limits);
  // A run that the time limit ends before its first test has failed nothing.
  if (result.failed && result.numRuns === 0) return 0;
  if (result.failed) throw new Error(fc.defaultReportMessage(result), { cause: result.errorInstance });
  return result.numRuns;
}

function readSeconds([flag, value]: string[]): number {
  if (flag === undefined) return DEFAULT_SECONDS;
  const seconds = Number(value);
  if (flag !== "--seconds" || !(seconds > 0)) throw new SyntaxError("--seconds N is the one option there is");
  return seconds;
}

const end = performance.now() + readSeconds(process.argv.slice(2)) * 1000;
const counts = { heads: 0, bodies: 0, connections: 0 };
await using fuzzer = await openEdgeFuzzer();
while (performance.now() < end) {
  const heads = fc.asyncProperty(fc.oneof(brokenHead, soup), (text) => Promise.resolve(assertAsReference(text)));
  counts.heads += await run(heads);
  const bodies = fc.asyncProperty(
    fc.oneof(chunkedBody, brokenBody, soup),
    pieceSizes,
    (text, sizes) => Promise.resolve(assertChunkedAsReference(text, sizes)),
  );
  counts.bodies += await run(bodies);
  counts.connections += await run(
    fc.asyncProperty(connectionText, pieceSizes, (text, sizes) => fuzzer.check(text, sizes)),
  );
  await fuzzer.idle();
}
const text = `${counts.heads} heads, ${counts.bodies} bodies and ${counts.connections} connections: no difference\n`;
process.stdout.write(text);
