/** Calls that were answered are there, whatever happens to the server: `PORTWAY_TEST_SECONDS=30` for a long run. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { makeTempDir, postgresMissing, startPostgres, startServer, within } from "./kit.ts";
import { makeToken, withUser } from "./views_kit.ts";

const SENDERS = 50;
const SECONDS = Number(Deno.env.get("PORTWAY_TEST_SECONDS") ?? 4);

interface Line {
  event: string;
  cursor: number;
  body: string;
}

/** Sends calls one after the other, each with words of its own, and gives those that were answered 200. */
async function sendUntil(url: string, name: string, signal: AbortSignal): Promise<string[]> {
  const answered: string[] = [];
  for (let count = 0; !signal.aborted; count++) {
    const words = `${name}-${count}`;
    try {
      const answer = await fetch(url, { method: "POST", body: words });
      await answer.text();
      if (answer.status === 200) answered.push(words);
      else throw new Error(`the server answered ${answer.status}`);
    } catch {
      // It was killed, and comes back.
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  return answered;
}

async function killInTheMiddle(databaseUrl: string | undefined): Promise<void> {
  await using folder = await makeTempDir();
  const dataDir = folder.path;
  const token = await makeToken(databaseUrl, dataDir);
  const args = [
    "--view-calls-per-minute",
    "100000000",
    "--view-bytes",
    "160000000000000",
  ];
  const env: Record<string, string> = databaseUrl === undefined ? {} : { PORTWAY_DATABASE_URL: databaseUrl };
  const first = await startServer({ dataDir, args, env });
  const { addView, startClient } = withUser(first, token);
  const { id, captureUrl } = await addView();
  await using tail = startClient(["--views-tail", id, "--json"]);
  await tail.events.waitFor("tailing");
  const stop = new AbortController();
  const sending = Array.from({ length: SENDERS }, (_, at) => sendUntil(captureUrl, `s${at}`, stop.signal));
  await new Promise((resolve) => setTimeout(resolve, SECONDS * 500));
  first.kill("SIGKILL");
  await first.ended;
  await using server = await startServer({ dataDir, args, env, port: first.port });
  await new Promise((resolve) => setTimeout(resolve, SECONDS * 500));
  stop.abort();
  const answered = (await Promise.all(sending)).flat();
  await fetch(captureUrl, { method: "POST", body: "the last one" }).then((answer) => answer.text());
  await within("the last call in the tail", tail.output.waitFor((line) => line.includes(btoa("the last one"))));
  const lines = tail.output.text.split("\n").filter((line) => line !== "").map((line): Line => JSON.parse(line));
  const shown = lines.filter(({ event }) => event === "capture");
  const { captures } = await withUser(server, token).ask(`/api/v1/views/${id}`).then((answer) => answer.json());
  // Cursors count up by one as nothing was deleted: what is shown is all that is kept, each once and in order.
  deepEqual(shown.map(({ cursor }) => cursor), Array.from({ length: captures }, (_, at) => at + 1));
  const bodies = new Set(shown.map(({ body }) => atob(body)));
  deepEqual(answered.filter((words) => !bodies.has(words)), []);
  ok(answered.length > SENDERS, "most were answered");
  ok(captures - answered.length - 1 <= SENDERS, "no more are there than were answered, or on their way at the end");
  equal(tail.errors.text.includes("reconnected"), true);
}

Deno.test("every call that was answered is there after the server was killed, on SQLite, and a tail showed each once", async () => {
  await killInTheMiddle(undefined);
});

Deno.test({
  name: "every call that was answered is there after the server was killed, on PostgreSQL, and a tail showed each once",
  ignore: postgresMissing() !== null,
  async fn() {
    await using postgres = await startPostgres();
    await killInTheMiddle(await postgres.createDatabase());
  },
});
