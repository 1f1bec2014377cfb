import assert from "node:assert/strict";
import type { ApiClient } from "../api/mod.ts";
import { checkAllowance, describeUsage } from "./allowance.ts";
import { checkPort, checkUsable, chooseTunnel, urlOfPort } from "./choose_tunnel.ts";
import { detailTunnel, listTunnels } from "./describe.ts";
import { fetchTunnels, fetchUsage, type ListedTunnel } from "./tunnels.ts";

const tunnel = (name: string, fields: Partial<ListedTunnel> = {}): ListedTunnel => ({
  id: `id-${name}`,
  name,
  url: `https://${name}-k3vq.tunnel.example.com`,
  defaultPort: 3000,
  allowedPorts: [4000, 5000],
  enabled: true,
  suspended: false,
  live: [],
  ...fields,
});

Deno.test("chooseTunnel takes a whole name before a beginning, and says what there is when none will do", () => {
  const tunnels = ["shop", "shop-admin", "blog"].map((name) => tunnel(name));
  assert.equal(chooseTunnel(tunnels, "shop").name, "shop");
  assert.equal(chooseTunnel(tunnels, "shop-").name, "shop-admin");
  assert.equal(chooseTunnel(tunnels, "b").name, "blog");
  assert.throws(() => chooseTunnel(tunnels, "sho"), {
    message: '"sho" matches more than one tunnel: shop, shop-admin',
  });
  assert.throws(() => chooseTunnel(tunnels, "x"), {
    message: 'no tunnel matches "x": this account has shop, shop-admin, blog',
  });
  assert.throws(() => chooseTunnel([], "x"), {
    message: "this account has no persistent tunnel: make one on the server's site",
  });
});

Deno.test("a tunnel that is off, suspended or does not allow a port is refused in one line", () => {
  assert.throws(() => checkUsable(tunnel("a", { enabled: false })), {
    message: 'the tunnel "a" is disabled: enable it on the server\'s website',
  });
  assert.throws(() => checkUsable(tunnel("a", { suspended: true })), {
    message: 'the tunnel "a" was suspended by an admin of the server',
  });
  checkUsable(tunnel("a"));
  for (const port of [3000, 4000]) checkPort(tunnel("a"), port);
  checkPort(tunnel("a", { allowedPorts: "all" }), 1);
  assert.throws(() => checkPort(tunnel("a"), 4001), {
    message: 'the tunnel "a" does not allow port 4001, only 3000, 4000, 5000',
  });
});

Deno.test("urlOfPort names a port in the label, and leaves the default one out", () => {
  assert.equal(urlOfPort(tunnel("a"), 3000), "https://a-k3vq.tunnel.example.com");
  assert.equal(urlOfPort(tunnel("a"), 4000), "https://a-k3vq--4000.tunnel.example.com");
  const local = tunnel("a", { url: "http://a-k3vq.tunnel.localhost:8787" });
  assert.equal(urlOfPort(local, 4000), "http://a-k3vq--4000.tunnel.localhost:8787");
});

Deno.test("the list has a number, name, address and state a line, and the details all of one", () => {
  const tunnels = [
    tunnel("shop", { live: [{ port: 3000, since: null }] }),
    tunnel("b", { live: [{ port: 3000, since: null }, { port: 4000, since: "2026-11-22T02:03:04.000Z" }] }),
    tunnel("c", { enabled: false }),
    tunnel("d", { suspended: true }),
    tunnel("e"),
  ];
  assert.deepEqual(listTunnels(tunnels), [
    "1  shop  https://shop-k3vq.tunnel.example.com  on, live",
    "2  b     https://b-k3vq.tunnel.example.com     on, live on 3000, 4000",
    "3  c     https://c-k3vq.tunnel.example.com     off",
    "4  d     https://d-k3vq.tunnel.example.com     suspended",
    "5  e     https://e-k3vq.tunnel.example.com     on",
  ]);
  assert.deepEqual(detailTunnel(tunnels[1]), [
    ["Name", "b"],
    ["Default port", "3000"],
    ["Allowed ports", "4000, 5000"],
    ["Enabled", "true"],
    ["Public URL", "https://b-k3vq.tunnel.example.com"],
    ["Live", "port 3000, port 4000 since 2026-11-22 02:03 UTC"],
  ]);
  assert.deepEqual(detailTunnel(tunnel("f", { allowedPorts: "all" }))[2], ["Allowed ports", "All"]);
});

Deno.test("the allowance is told in words, and refused when it is used up", () => {
  const usage = (bytes: number, bytesLimit: number | null = 25e9) => ({
    bytes,
    bytesLimit,
    resetsAt: "2026-12-01T00:00:00.000Z",
  });
  assert.equal(describeUsage(usage(1.2e9)), "1.20 GB of 25.0 GB this month");
  assert.equal(describeUsage(usage(1.2e9, null)), "1.20 GB this month");
  checkAllowance(usage(24.9e9));
  assert.throws(() => checkAllowance(usage(25e9)), {
    message: "your traffic is used up: 25.0 GB of 25.0 GB this month; it starts again on 2026-12-01",
  });
});

const answering = (answer: unknown): ApiClient => ({
  server: new URL("http://a.example"),
  get: () => Promise.resolve(answer),
  post: () => Promise.reject(new Error("not asked")),
  patch: () => Promise.reject(new Error("not asked")),
  delete: () => Promise.reject(new Error("not asked")),
  stream: () => Promise.reject(new Error("not asked")),
});

Deno.test("fetchTunnels and fetchUsage read what the server says, and take nothing else for it", async () => {
  const one = { ...tunnel("a"), label: "a-k3vq", createdAt: 1, live: [{ port: 3000, since: 0 }] };
  assert.deepEqual(await fetchTunnels(answering({ tunnels: [one] })), [
    tunnel("a", { live: [{ port: 3000, since: "1970-01-01T00:00:00.000Z" }] }),
  ]);
  const damages = [{ name: 1 }, { url: "https://a.example/\x1b[2J" }, { url: "javascript:1" }, { defaultPort: 70_000 }];
  for (const damage of [...damages, { allowedPorts: "some" }, { enabled: 1 }]) {
    await assert.rejects(fetchTunnels(answering({ tunnels: [{ ...one, ...damage }] })), { code: "not_portway" });
  }
  for (const answer of [null, {}, [], { tunnels: {} }]) {
    await assert.rejects(fetchTunnels(answering(answer)), { code: "not_portway" });
    await assert.rejects(fetchUsage(answering(answer)), { code: "not_portway" });
  }
  assert.deepEqual(await fetchUsage(answering({ bytes: 1, bytesLimit: 2, resetsAt: 0 })), {
    bytes: 1,
    bytesLimit: 2,
    resetsAt: "1970-01-01T00:00:00.000Z",
  });
});
