import { equal } from "node:assert/strict";
import { readFileSync, realpathSync } from "node:fs";
import { createServer } from "node:net";
import { explainError } from "./explain_error.ts";

function fail(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

Deno.test("explainError has words for what the system says, whichever runtime tells of it", async () => {
  const missing = "there is no such file or folder (ENOENT)";
  equal(explainError(fail(() => realpathSync("/portway/is/not/here"))), missing);
  equal(explainError(fail(() => readFileSync("/portway/is/not/here"))), missing);
  equal(explainError(fail(() => readFileSync("/"))), "it is a folder (EISDIR)");
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.on("listening", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const taken = "another program listens there already (EADDRINUSE)";
  const second = createServer().listen(port, "127.0.0.1");
  equal(explainError(await new Promise((resolve) => second.on("error", resolve))), taken);
  if ("listen" in Deno) equal(explainError(fail(() => Deno.listen({ hostname: "127.0.0.1", port }))), taken);
  await new Promise((resolve) => server.close(resolve));
});

Deno.test("explainError leaves what it does not know as it is", () => {
  equal(
    explainError(Object.assign(new Error("file is not a database"), { code: "ERR_SQLITE_ERROR" })),
    "file is not a database",
  );
  equal(explainError(Object.assign(new Error("odd"), { code: "constructor" })), "odd");
  equal(explainError("text"), "text");
});
