import fc from "fast-check";
import { connectionText, pieceSizes } from "../../http1/_fuzz.ts";
import { openEdgeFuzzer } from "./fuzz_kit_test.ts";

Deno.test("a listener's handler gets what a slow reader reads on the connection, nothing more and nothing else", async () => {
  await using fuzzer = await openEdgeFuzzer();
  await fc.assert(fc.asyncProperty(connectionText, pieceSizes, (text, sizes) => fuzzer.check(text, sizes)), {
    numRuns: 300,
  });
});
