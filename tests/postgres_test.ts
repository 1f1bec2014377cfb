/** A server that keeps its state in PostgreSQL. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { findFreePort } from "./kit/free_port.ts";
import {
  PASSWORD,
  postgresMissing,
  runProgram,
  startPostgres,
  startServer,
  startSite,
  startTunnel,
  visit,
} from "./kit.ts";

const ignore = postgresMissing() !== null;
const createTunnel = (url: string) => visit(`${url}/api/v1/tunnels/ephemeral`, { method: "POST" });

Deno.test({
  name: "tunnels go on while the database is away, and new ones are made as soon as it is back",
  ignore,
  async fn() {
    await using postgres = await startPostgres();
    await using site = startSite();
    const env = { PORTWAY_DATABASE_URL: await postgres.createDatabase() };
    await using server = await startServer({ env });
    await using tunnel = await startTunnel({ server, target: site });
    assert.equal((await createTunnel(server.url)).status, 201);

    await postgres.stop();
    const refused = await createTunnel(server.url);
    assert.deepEqual([refused.status, refused.headers["portway-error"]], [503, "storage_failed"]);
    assert.match(await server.errors.waitFor((line) => line.includes("storage_failed")), /ECONNREFUSED/);
    assert.equal((await server.health()).status, "storage_failed");
    assert.equal((await visit(`${tunnel.url}/`)).status, 200);

    await postgres.start();
    await server.whenHealth(({ status }) => status === "ok");
    await server.errors.waitFor((line) => line.includes("storage_recovered"));
    assert.equal((await createTunnel(server.url)).status, 201);
    server.kill("SIGTERM");
    assert.equal((await server.ended).code, 0);
    assert.equal(server.errors.text.split("storage_failed").length, 2, server.errors.text);
    assert.doesNotMatch(server.errors.text, /stack=|defect|request_failed/);

    await using again = await startServer({ env, port: server.port });
    await again.whenHealth(({ sessions }) => sessions === 1);
    assert.equal((await visit(`${tunnel.url}/`)).status, 200);
  },
});

Deno.test({
  name: "the password of the database is in no output and no command line",
  ignore,
  async fn() {
    await using postgres = await startPostgres();
    const url = await postgres.createDatabase();
    await using server = await startServer({ env: { PORTWAY_DATABASE_URL: url, PORTWAY_LOG_LEVEL: "debug" } });
    await postgres.stop();
    await createTunnel(server.url);
    await server.errors.waitFor((line) => line.includes("storage_failed"));
    const shown = [server.errors.text, server.output.text, await readFile(`/proc/${server.pid}/cmdline`, "latin1")];
    for (const text of shown) {
      for (const secret of [PASSWORD, encodeURIComponent(PASSWORD)]) assert.ok(!text.includes(secret), text);
    }
  },
});

Deno.test("a password of the database among the flags is refused, for everybody could see it", async () => {
  const args = ["--database-url", "postgres://me:secret@127.0.0.1/data"];
  const { code, errors } = await runProgram({ entry: "server.ts", args });
  assert.equal(code, 2);
  assert.equal(
    errors,
    "portway: --database-url: other users of this machine could see its password; set PORTWAY_DATABASE_URL",
  );
});

Deno.test("an address of the database that is none is refused without showing it", async () => {
  for (
    const [value, reason] of [
      ["mysql://me:secret@host/data", "a postgres:// URL is wanted"],
      [
        "postgres://me:secret@host/data?sslmode=secure",
        "sslmode must be disable, prefer, require or verify-full",
      ],
    ]
  ) {
    const { code, errors } = await runProgram({
      entry: "server.ts",
      args: [],
      env: { PORTWAY_DATABASE_URL: value },
    });
    assert.deepEqual([code, errors], [2, `portway: PORTWAY_DATABASE_URL: cannot use its value: ${reason}`]);
  }
});

Deno.test("a database that cannot be reached ends the server with one line", async () => {
  const port = findFreePort();
  const env = { PORTWAY_DATABASE_URL: `postgres://me:secret@127.0.0.1:${port}/data` };
  const { code, output, errors } = await runProgram({ entry: "server.ts", args: ["--port", "0"], env });
  assert.deepEqual([code, output], [1, ""]);
  assert.match(
    errors,
    new RegExp(`^portway: cannot open the database "data" of me at 127.0.0.1:${port}: .*ECONNREFUSED.*$`),
  );
});
