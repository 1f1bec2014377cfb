import { equal, throws } from "node:assert/strict";
import { readLimit } from "./fixed_limits.ts";

Deno.test("readLimit reads a constant from the one module that has it, and writes it in its unit", () => {
  equal(readLimit(["frames", "count", "protocol", "MAX_EMPTY_FRAMES"]), "10,000");
  equal(readLimit(["pieces", "bytes", "protocol/limits.ts", "MAX_PIECE"]), "64 KiB");
  equal(readLimit(["windows", "bytes", "protocol", "MAX_WINDOW"]), "15 MiB");
  equal(readLimit(["silence", "ms", "protocol", "SILENCE_MS"]), "25 seconds");
});

Deno.test("readLimit fails when the source has no such constant", () => {
  throws(
    () => readLimit(["nothing", "count", "protocol", "NO_SUCH_LIMIT"]),
    /cannot read the limit "nothing": protocol has 0 constants NO_SUCH_LIMIT, not one/,
  );
});
