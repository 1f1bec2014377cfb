import { deepEqual, equal, ok } from "node:assert/strict";
import os from "node:os";
import { serveLocally } from "./local_server.ts";

const target = { fetch: () => Promise.resolve(new Response("here")), close: () => Promise.resolve() };
const HAS_IPV6 = Object.values(os.networkInterfaces()).some((list) => list?.some(({ address }) => address === "::1"));

Deno.test("serveLocally tells addresses that can be asked, whatever it is bound to", async () => {
  for (const hostname of ["127.0.0.1", "0.0.0.0", ...(HAS_IPV6 ? ["::1", "::"] : [])]) {
    const server = await serveLocally({ target, hostname, port: 0 });
    try {
      ok(server.urls.length > 0);
      for (const url of server.urls) equal(await (await fetch(url)).text(), "here", url);
    } finally {
      await server.close();
    }
  }
});

Deno.test("serveLocally tells the machine's addresses by name, IPv6 in brackets", { ignore: !HAS_IPV6 }, async () => {
  const one = await serveLocally({ target, hostname: "::1", port: 0 });
  const all = await serveLocally({ target, hostname: "::", port: 0 });
  const four = await serveLocally({ target, hostname: "0.0.0.0", port: 0 });
  try {
    deepEqual(one.urls, [`http://[::1]:${one.port}/`]);
    equal(all.urls[0], `http://localhost:${all.port}/`);
    for (const url of four.urls) ok(all.urls.includes(url.replace(`:${four.port}/`, `:${all.port}/`)), url);
  } finally {
    for (const server of [one, all, four]) await server.close();
  }
});
