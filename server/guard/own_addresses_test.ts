import { deepEqual, equal } from "node:assert/strict";
import { createOwnAddressCheck } from "./own_addresses.ts";

const readInterfaces = () => ["127.0.0.1", "9.9.9.9", "2a00:1450::9", "fe80::1%eth0"];

Deno.test("own address check knows this machine in every spelling, at the listener's port alone", async () => {
  const isOwn = createOwnAddressCheck({ port: 8787, readInterfaces });
  for (
    const address of [
      "9.9.9.9",
      "::ffff:9.9.9.9",
      "::ffff:909:909",
      "2a00:1450::9",
      "2A00:1450:0:0::9",
      "fe80::1",
      "127.0.0.1",
      "127.8.8.8",
      "::1",
      "::ffff:127.0.0.1",
      "0.0.0.0",
      "::",
    ]
  ) {
    deepEqual([await isOwn(address, 8787), await isOwn(address, 8788)], [true, false], address);
  }
  for (const address of ["9.9.9.8", "2a00:1450::8", "::ffff:9.9.9.8"]) {
    equal(await isOwn(address, 8787), false, address);
  }
});

Deno.test("own address check knows what the server's own name resolves to, at its public port", async () => {
  const asked: string[] = [];
  const isOwn = createOwnAddressCheck({
    port: 8787,
    outside: { hostname: "tunnel.example.com", port: 443 },
    resolver: (name) => {
      asked.push(name);
      return Promise.resolve(["9.9.9.1"]);
    },
    readInterfaces,
  });
  deepEqual([await isOwn("9.9.9.1", 443), await isOwn("::ffff:9.9.9.1", 443)], [true, true]);
  deepEqual([await isOwn("9.9.9.1", 80), await isOwn("9.9.9.2", 443)], [false, false]);
  deepEqual(asked, ["tunnel.example.com"]);
});

Deno.test("own address check takes a name of the server's own that does not resolve for nobody's", async () => {
  const resolver = () => Promise.reject(new Error("ENOTFOUND"));
  const isOwn = createOwnAddressCheck({ port: 8787, outside: { hostname: "gone.test", port: 443 }, resolver });
  equal(await isOwn("9.9.9.1", 443), false);
});
