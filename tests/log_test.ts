/** Nobody waits for who reads a log. */
import assert from "node:assert/strict";
import { within } from "./kit.ts";

const LINES = 100_000;

Deno.test("a log reader who stalls stops nobody, and is told how many lines were lost", async () => {
  const script = `import { createLogger } from "${new URL("../common/log.ts", import.meta.url)}";
    const log = createLogger();
    for (let line = 0; line < ${LINES}; line++) {
      log.info("line", { number: line });
      if (line % 1000 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    console.log("alive");
    await log.flush();`;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["eval", script],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const said = await within("a sign of life", child.stdout.getReader().read());
  assert.equal(new TextDecoder().decode(said.value), "alive\n");
  const lines = (await within("the log", new Response(child.stderr).text())).trimEnd().split("\n");
  await child.status;
  const lost = lines.map((line) => Number(/log_lines_dropped count=(\d+)/.exec(line)?.[1] ?? 0));
  const kept = lines.filter((line) => line.includes(" line number=")).length;
  assert.equal(lost.reduce((sum, count) => sum + count, 0) + kept, LINES);
  assert(kept < LINES, "some were lost");
  assert.match(lines.at(-1) ?? "", new RegExp(`number=${LINES - 1}$`));
});
