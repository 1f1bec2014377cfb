import { type Estimate, once, ratioOf } from "../measure/stats.ts";
import type { Goal } from "../report/goals.ts";
import { OURS } from "./report.ts";
import { AFTER_BULK, AFTER_REQUESTS, OVER_TLS, type Section } from "./rows.ts";

/** HTTP tunnels like ours. Targets compare with the best one. */
const HTTP_PEERS = ["frp", "piko", "localtunnel"];

/** Returns the targets with this run's figures. Missing measurements stay missing. */
export function createGoals(sections: readonly Section[]): Goal[] {
  const findRow = (title: string, name: string) =>
    sections.find((section) => section.title === title)?.rows.find((row) => row.name === name);
  const find = (title: string, name: string, key: string) => findRow(title, name)?.values[key] ?? NaN;
  const figures = (title: string, name: string, key: string) =>
    findRow(title, name)?.rounds.map((round) => round[key]) ?? [];
  const beside = (title: string, key: string, pick: (...values: number[]) => number, names: readonly string[]) => {
    const figure = (name: string) => find(title, name, key);
    const best = pick(...names.map(figure).filter(Number.isFinite)),
      theirs = names.find((name) => figure(name) === best);
    return theirs === undefined ? once(NaN) : ratioOf(figures(title, OURS, key), figures(title, theirs, key));
  };
  const small = (connections: number, heads: string) => `12 bytes, ${connections} connections, ${heads} heads`;
  const atLeast = (name: string, found: Estimate, bound: number): Goal => ({ name, ...found, bound, kind: "at least" });
  const atMost = (name: string, found: Estimate, bound: number): Goal => ({ name, ...found, bound, kind: "at most" });
  const speed = (connections: number, heads: string, names: readonly string[]) =>
    beside(small(connections, heads), "perSecond", Math.max, names);
  const cpu = (heads: string) => beside(small(128, heads), "cpuUs", Math.min, ["floor"]);
  const idle = "3000 idle tunnels", echo = "WebSocket echo of 32 bytes";
  const delayed = "over 50 ms of round trip between client and relay";
  const bulk = (title: string) => beside(title, "mbPerSecond", Math.max, ["frp"]);
  return [
    atLeast("requests/s beside the best of frp, piko, localtunnel, 32 connections", speed(32, "plain", HTTP_PEERS), 6),
    atLeast("the same, 128 connections", speed(128, "plain", HTTP_PEERS), 6.5),
    atLeast("the same with browser-like heads, 32", speed(32, "browser-like", HTTP_PEERS), 5.5),
    atLeast("the same with browser-like heads, 128", speed(128, "browser-like", HTTP_PEERS), 6),
    atLeast(
      "requests/s beside frp, both clients' sessions over TLS",
      beside(OVER_TLS, "perSecond", Math.max, ["frp"]),
      6,
    ),
    atMost("p99 at 128 beside the best of them", beside(small(128, "plain"), "p99Ms", Math.min, HTTP_PEERS), 0.3),
    atLeast("requests/s beside chisel, 128 connections", speed(128, "plain", ["chisel"]), 1.5),
    atMost("CPU a request beside the floor, 128 connections", cpu("plain"), 1.25),
    atMost("the same with browser-like heads", cpu("browser-like"), 1.25),
    atLeast("1 GB down, MB/s beside frp", bulk("one body of 1 GB down"), 1.1),
    atLeast("1 GB up, MB/s beside frp", bulk("one body of 1 GB up"), 1.1),
    atLeast("100 × 1 MB down, MB/s beside frp", bulk("100 bodies of 1 MB down, one after the other"), 1.1),
    atLeast("100 × 1 MB up, MB/s beside frp", bulk("100 bodies of 1 MB up, one after the other"), 1.1),
    atLeast("100 MB down over 50 ms of round trip, MB/s beside frp", beside(delayed, "downMb", Math.max, ["frp"]), 1.5),
    atLeast("100 MB up over 50 ms of round trip, MB/s beside frp", beside(delayed, "upMb", Math.max, ["frp"]), 1.5),
    atLeast("WebSocket messages/s beside frp", beside(echo, "messagesPerSecond", Math.max, ["frp"]), 1.3),
    atMost("CPU a WebSocket message beside frp", beside(echo, "cpuUs", Math.min, ["frp"]), 0.7),
    atMost(
      "p50 at 1 connection beside the best of them",
      beside(small(1, "plain"), "p50Ms", Math.min, HTTP_PEERS),
      0.8,
    ),
    atMost("relay's peak memory in bulk, MB", once(find(AFTER_BULK, OURS, "relayPeakMb")), 120),
    atMost("the same with small answers", once(find(AFTER_REQUESTS, OURS, "relayPeakMb")), 120),
    atMost("relay memory of an idle tunnel, kB", once(find(idle, OURS, "relayKb")), 25),
    atMost("client memory after more than 1 GB, MB", once(find(AFTER_BULK, OURS, "clientMb")), 60),
  ];
}
