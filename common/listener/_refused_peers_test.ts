import assert from "node:assert/strict";
import { type Peer, RefusedPeers } from "./_refused_peers.ts";

const peer = (port: number): Peer => ({ hostname: "192.0.2.1", port });

Deno.test("a refused peer is known for a minute, by its address and port", () => {
  const peers = new RefusedPeers();
  peers.add(peer(1), 0);
  assert.deepEqual([peers.has(peer(1), 59_999), peers.has(peer(2), 59_999), peers.any], [true, false, true]);
  assert.deepEqual([peers.has(peer(1), 60_000), peers.any], [false, false]);
});

Deno.test("of more than 10,000 refused peers the oldest is forgotten", () => {
  const peers = new RefusedPeers();
  for (let port = 0; port <= 10_000; port++) peers.add(peer(port), port);
  assert.deepEqual([0, 1, 10_000].map((port) => peers.has(peer(port), 10_000)), [false, true, true]);
});
