import { deepEqual, equal, rejects } from "node:assert/strict";
import { type LogFields, silentLogger } from "../../common/log.ts";
import { Lazy } from "./mod.ts";

/** A part whose loads the test ends, and what the log heard. */
function createPart() {
  const loads: PromiseWithResolvers<{ name: string }>[] = [];
  const errors: [string, LogFields | undefined][] = [];
  const part = new Lazy({
    name: "pages",
    log: { ...silentLogger, error: (event, fields) => void errors.push([event, fields]) },
    load() {
      const load = Promise.withResolvers<{ name: string }>();
      loads.push(load);
      return load.promise;
    },
  });
  return { part, loads, errors };
}

Deno.test("a part is loaded when it is first wanted, once for all who want it, and is at hand from then on", async () => {
  const { part, loads } = createPart();
  deepEqual([loads.length, part.loaded], [0, null]);
  const wanted = [part.load(), part.use(({ name }) => name), part.load()];
  equal(loads.length, 1);
  loads[0].resolve({ name: "site" });
  deepEqual(await Promise.all(wanted), [{ name: "site" }, "site", { name: "site" }]);
  equal(part.loaded?.name, "site");
  equal(part.use(({ name }) => name), "site", "at once, as nothing has to be waited for");
  equal(loads.length, 1);
});

Deno.test("all who wait for a part that cannot be loaded are told, the log once a reason, and the next one has it tried again", async () => {
  const { part, loads, errors } = createPart();
  const wanted = [part.load(), part.use(() => "never"), part.load()];
  loads[0].reject(new Error("no such file"));
  for (const one of wanted) {
    await rejects(Promise.resolve(one), {
      status: 500,
      code: "internal_error",
      message: "The server could not load this part.",
    });
  }
  deepEqual(errors.map(([event, fields]) => [event, fields?.part, fields?.reason]), [
    ["not_loaded", "pages", "no such file"],
  ]);
  for (const [at, reason] of [[1, "no such file"], [2, "no such export"]] as const) {
    const again = rejects(part.load(), { status: 500 });
    loads[at].reject(new Error(reason));
    await again;
  }
  deepEqual(errors.map(([, fields]) => fields?.reason), ["no such file", "no such export"]);
  const last = part.load();
  loads[3].resolve({ name: "site" });
  equal((await last).name, "site");
});

Deno.test("closing gives what is loaded, waits for what is under way, and begins nothing new", async () => {
  const { part, loads } = createPart();
  const wanted = part.load();
  const closed = part.close();
  loads[0].resolve({ name: "site" });
  deepEqual(await closed, { name: "site" });
  equal((await wanted).name, "site", "who waited gets it");
  equal((await part.load()).name, "site");

  const idle = createPart();
  equal(await idle.part.close(), null);
  await rejects(idle.part.load(), { status: 503, code: "server_restarting" });
  equal(idle.loads.length, 0);

  const failing = createPart();
  const failed = rejects(failing.part.load(), { status: 500 });
  const closing = failing.part.close();
  failing.loads[0].reject(new Error("no such file"));
  await failed;
  equal(await closing, null);
});
