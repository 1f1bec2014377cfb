import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as limits from "./limits.ts";

Deno.test("docs/reference/protocol.md has the limits of flow control as they are", () => {
  const text = readFileSync(new URL("../docs/reference/protocol.md", import.meta.url), "utf8").replaceAll(/\s+/g, " ");
  const say = (bytes: number) => bytes.toLocaleString("en");
  for (
    const sentence of [
      `On every new stream each side may send ${say(limits.INITIAL_WINDOW)} bytes`,
      `each side may send ${say(limits.OVERDRAFT)} bytes beyond it`,
      `up to ${say(limits.MAX_WINDOW)} bytes a stream`,
      `${say(limits.MAX_WINDOW_GROWTH)} bytes of growth for all streams of a session`,
      `and ${say(limits.PROCESS_GROWTH)} for all of its process`,
      `has grown by less than ${say(limits.MAX_EARLY_GROWTH)} bytes`,
    ]
  ) assert(text.includes(sentence), sentence);
});
