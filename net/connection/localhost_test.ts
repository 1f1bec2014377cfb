import assert from "node:assert/strict";
import { createLocalhostDialer, isLocalhost } from "./localhost.ts";
import { ConnectError, type ConnectFailure, type Driver, type PlainConnection } from "./types.ts";

const connection: PlainConnection = {
  read: () => Promise.resolve(null),
  write: () => Promise.resolve(),
  closeWrite: () => Promise.resolve(),
  close: () => {},
  startTls: () => Promise.resolve(connection),
};

/** A driver that fails for the addresses named, and notes which it was asked for. */
function createDriver(failures: Record<string, ConnectFailure | undefined>): Driver & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    openTcp(hostname) {
      asked.push(hostname);
      const failure = failures[hostname];
      return failure === undefined ? Promise.resolve(connection) : Promise.reject(new ConnectError(failure, hostname));
    },
  };
}

Deno.test("createLocalhostDialer tries the address first that answered on that port the last time", async () => {
  const failures: Record<string, ConnectFailure | undefined> = { "127.0.0.1": "refused" };
  const driver = createDriver(failures);
  const dial = createLocalhostDialer();
  await dial(driver, "localhost", 1);
  await dial(driver, "localhost", 1);
  await dial(driver, "localhost", 2);
  assert.deepEqual(driver.asked.splice(0), ["127.0.0.1", "::1", "::1", "127.0.0.1", "::1"]);

  Object.assign(failures, { "127.0.0.1": undefined, "::1": "refused" });
  await dial(driver, "localhost", 1);
  await dial(driver, "localhost", 1);
  assert.deepEqual(driver.asked, ["::1", "127.0.0.1", "127.0.0.1"]);
});

Deno.test("createLocalhostDialer tells of a refusal where the other address cannot be used at all", async () => {
  for (const [first, second] of [["refused", "failed"], ["failed", "refused"], ["refused", "refused"]] as const) {
    const driver = createDriver({ "127.0.0.1": first, "::1": second });
    await assert.rejects(createLocalhostDialer()(driver, "localhost", 3000), {
      failure: "refused",
      message: "cannot connect to localhost port 3000: connection refused",
    });
  }
});

Deno.test("createLocalhostDialer tries nothing more once its signal has fired, and leaves other names alone", async () => {
  const driver = createDriver({ "127.0.0.1": "aborted" });
  await assert.rejects(createLocalhostDialer()(driver, "localhost", 1, AbortSignal.abort()), { failure: "aborted" });
  await createLocalhostDialer()(driver, "relay.example", 1);
  assert.deepEqual(driver.asked, ["127.0.0.1", "relay.example"]);
});

Deno.test("isLocalhost knows the names of this machine", () => {
  for (const name of ["localhost", "LocalHost", "localhost.", "a.b.localhost"]) assert.equal(isLocalhost(name), true);
  for (const name of ["notlocalhost", "localhost.example", "", "127.0.0.1"]) assert.equal(isLocalhost(name), false);
});
