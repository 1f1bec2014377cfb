import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { CaCertsError, loadCaCerts } from "./ca_certs.ts";

const path = (name: string) => fileURLToPath(new URL(`./testdata/${name}`, import.meta.url));

Deno.test("loadCaCerts loads each file that is named, once", async () => {
  const loaded = await loadCaCerts([undefined, path("ca.pem"), "", path("self_signed.pem"), path("ca.pem")]);
  assert.equal(loaded.length, 2);
  for (const text of loaded) assert.match(text, /^-----BEGIN CERTIFICATE-----/);
  assert.deepEqual(await loadCaCerts([undefined, ""]), []);
});

Deno.test("loadCaCerts names a file that is not there or holds no certificate", async () => {
  const refused = (error: unknown) => error instanceof CaCertsError && /missing\.pem|leaf\.key/.test(error.message);
  await assert.rejects(loadCaCerts([path("missing.pem")]), refused);
  await assert.rejects(loadCaCerts([path("leaf.key")]), refused);
});
