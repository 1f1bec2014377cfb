/**
 * `deno task bench:deployments`: the relay as operators run it, each in the same run: alone, behind a reverse proxy that
 * it trusts, and with its own TLS over HTTP/1.1 and HTTP/2. Prints a table and the goal for trusted proxies.
 *
 *     --quick            two short rounds
 */
import process from "node:process";
import { BROWSER, chooseLoad, FORWARDED, type GenerateLoad, type Head, http2Load } from "./load/mod.ts";
import { medianOf, ratioOf } from "./measure/stats.ts";
import { runRounds } from "./measure/rounds.ts";
import { readOptions } from "./options.ts";
import { startService } from "./programs/helpers.ts";
import { startTunnel } from "./programs/portway.ts";
import type { Contestant } from "./programs/types.ts";
import { formatGoals, type Goal } from "./report/goals.ts";
import { formatNumber, formatTable } from "./report/table.ts";
import { measureRequests, type RequestsResult } from "./workloads/requests.ts";
import { warmUp } from "./workloads/warm_up.ts";

const CONNECTIONS = 32;
const TRUST = ["--trusted-proxies", "127.0.0.1"];
/** The row without trust, and the row with it. */
const UNTRUSTED = "forwarded fields, not trusted", TRUSTED = "forwarded fields, trusted proxy";

/** One way to run the relay, and the load that it gets. */
interface Deployment {
  readonly contestant: Contestant;
  readonly head: Head;
  readonly generate: GenerateLoad;
}

async function main(): Promise<void> {
  const { quick } = readOptions({ quick: { type: "boolean", default: false } });
  const load = await chooseLoad(), service = await startService();
  const rounds = quick ? 2 : 7, seconds = quick ? 1 : 2;
  const deployments = await startDeployments(service.port, load.generate);
  for (const { contestant } of deployments) await warmUp(contestant, load.generate);
  for (const { contestant, head, generate } of deployments) {
    if (generate === http2Load) {
      await generate({ endpoint: contestant.endpoint, path: "/", head, connections: 32, seconds });
    }
  }
  const byContestant = new Map(deployments.map((deployment) => [deployment.contestant, deployment]));
  const found = await runRounds([...byContestant.keys()], rounds, (contestant) => {
    const { head, generate } = byContestant.get(contestant) ?? deployments[0];
    return measureRequests(contestant, { generate, path: "/", head, connections: CONNECTIONS, seconds });
  }, ({ name }, error) => void process.stderr.write(`${name}: ${error}\n`));
  const rows = [...found].filter(([, results]) => results.length > 0)
    .map(([{ name }, results]) => [name, ...Object.values(medianOf(results)).map(formatNumber)]);
  const header = ["deployment", "requests/s", "p50 ms", "p99 ms", "relay µs", "client µs", "both µs"];
  process.stdout.write(`Load by ${load.name}, ${CONNECTIONS} connections, ${rounds} rounds in turn, medians.\n\n`);
  process.stdout.write(`${formatTable(header, rows)}\n`);
  const named = new Map([...found].map(([{ name }, results]) => [name, results]));
  process.stdout.write(formatGoals([createGoal(named)]));
  for (const { contestant } of deployments) await contestant.stop();
  await service.stop();
}

async function startDeployments(service: number, generate: GenerateLoad): Promise<Deployment[]> {
  const forwarded = [...BROWSER, ...FORWARDED];
  const start = (name: string, variant: Parameters<typeof startTunnel>[2]) =>
    startTunnel(name, { service }, variant, { silent: true });
  return [
    { contestant: await start("no proxy", {}), head: BROWSER, generate },
    { contestant: await start(UNTRUSTED, {}), head: forwarded, generate },
    { contestant: await start(TRUSTED, { flags: TRUST }), head: forwarded, generate },
    { contestant: await start("own TLS, HTTP/1.1", { isSecure: true }), head: BROWSER, generate },
    { contestant: await start("own TLS, HTTP/2", { isSecure: true }), head: BROWSER, generate: http2Load },
  ];
}

function createGoal(found: ReadonlyMap<string, readonly RequestsResult[]>): Goal {
  const relay = (name: string) => (found.get(name) ?? []).map(({ relayUs }) => relayUs);
  const ratio = ratioOf(relay(TRUSTED), relay(UNTRUSTED));
  return {
    name: "relay CPU with a trusted proxy, beside the same fields untrusted",
    ...ratio,
    bound: 1.05,
    kind: "at most",
  };
}

await main();
process.exit(0);
