import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { OptionError } from "../../common/options.ts";
import { loadCaCerts } from "./ca_certs.ts";

const path = (name: string) => fileURLToPath(new URL(`./testdata/${name}`, import.meta.url));

Deno.test("loadCaCerts loads each file that is named, once", async () => {
  const ca = path("ca.pem");
  const loaded = await loadCaCerts({ a: undefined, b: ca, c: "", d: path("self_signed.pem"), e: ca, f: null });
  assert.equal(loaded.length, 2);
  for (const text of loaded) assert.match(text, /^-----BEGIN CERTIFICATE-----/);
  assert.deepEqual(await loadCaCerts({ a: undefined, b: "" }), []);
});

Deno.test("loadCaCerts names a file that is not there or holds no certificate, and where it was named", async () => {
  for (const name of ["missing.pem", "leaf.key"]) {
    await assert.rejects(loadCaCerts({ "--ca-certs": path(name) }), (error) => {
      assert(error instanceof OptionError);
      assert.match(error.message, new RegExp(`^--ca-certs: .*${name}`));
      return true;
    });
  }
});
