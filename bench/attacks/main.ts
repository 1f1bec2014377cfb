// Attacks on a server with default options at full size, beside an undisturbed server. Ordinary visitors came before,
// unless the label says otherwise.   deno task attack [--only <name>] [--seconds <n>] [--scale <share>]
import process from "node:process";
import { readOptions } from "../options.ts";
import { formatNumber, formatTable } from "../report/table.ts";
import { chooseLoad } from "../load/mod.ts";
import { type AttackOptions, type Bearing, openStage, type StageOptions } from "./stage.ts";

const MB = 1e6;
const SECONDS = 10;

const values = readOptions({ only: { type: "string" }, seconds: { type: "string" }, scale: { type: "string" } });
const seconds = Number(values.seconds ?? SECONDS), scale = Number(values.scale ?? 1);

/** Names with concurrent attackers. */
const FULL: readonly (readonly [string, number])[] = [
  ["half-heads", 5000],
  ["silent", 5000],
  ["idle", 5000],
  ["slow-bodies", 2000],
  ["no-readers", 2000],
  ["whole-unread", 2000],
  ["unread-sessions", 400],
  ["slow-target", 4],
  ["request-fields", 20],
  ["short-fields", 20],
  ["answer-fields", 8],
  ["chunks-512", 1],
  ["chunks-64", 20],
  ["chunks-1", 20],
  ["unfinished-messages", 20],
  ["unfinished-sessions", 20],
  ["session-pings", 8],
  ["session-pings-unread", 8],
  ["service-pings", 8],
  ["refused-senders", 20],
  ["answered-senders", 20],
  ["noise-senders", 20],
  ["idle-upgrades", 2000],
  ["pipelines", 100],
  ["churn", 50],
  ["one-address", 1500],
];

/** For a server with TLS: over HTTP/2, and with plain connections that start no valid handshake. */
const SECURE: readonly (readonly [string, number])[] = [
  ["http2-no-readers", 2000],
  ["http2-resets", 50],
  ["http2-floods", 50],
  ["http2-settings", 8],
  ["silent", 5000],
  ["churn", 50],
];

/** Under `ulimit -n 1024`. */
const FEW_DESCRIPTORS: readonly (readonly [string, number])[] = [
  ["silent", 2500],
  ["idle", 2500],
  ["half-heads", 2500],
];

/** The most expensive attacks right after the start, before V8 has compiled hot code. */
const JUST_STARTED: readonly (readonly [string, number])[] = [["idle", 5000], ["no-readers", 2000]];

const { generate: visited } = await chooseLoad();
const rows: string[][] = [];

async function run(label: string, attack: AttackOptions | null, options: StageOptions = { visited }): Promise<void> {
  if (values.only !== undefined && attack !== null && !values.only.split(",").includes(attack.name)) return;
  await using stage = await openStage(options);
  const bearing = await stage.bear(attack, seconds);
  rows.push(describe(label, bearing));
  process.stdout.write(`${rows.at(-1)?.join("  ")}  ${JSON.stringify(bearing.tally)}\n`);
}

function describe(label: string, bearing: Bearing): string[] {
  return [
    label,
    String(bearing.probes),
    String(bearing.failed),
    formatNumber(bearing.median),
    formatNumber(bearing.p99),
    formatNumber(bearing.longest),
    formatNumber(bearing.memoryBefore / MB),
    formatNumber(bearing.memoryPeak / MB),
    formatNumber(bearing.memoryHeld / MB),
    formatNumber(bearing.clientPeak / MB),
    `${bearing.descriptorsBefore} → ${bearing.descriptorsAfter}`,
    String(bearing.streamsAfter),
    formatNumber(bearing.returned / 1000),
  ];
}

await run("quiet", null);
for (const [name, count] of FULL) {
  const scaled = Math.max(1, Math.round(count * scale));
  await run(`${name} × ${scaled}`, { name, count: scaled });
}
await run("quiet, TLS", null, { visited, isSecure: true });
for (const [name, count] of SECURE) {
  const scaled = Math.max(1, Math.round(count * scale));
  await run(`${name} × ${scaled}`, { name, count: scaled }, { visited, isSecure: true });
}
for (const [name, count] of FEW_DESCRIPTORS) {
  await run(`${name} × ${count}, 1024 descriptors`, { name, count }, { visited, descriptors: 1024 });
}
for (const [name, count] of JUST_STARTED) {
  await run(`${name} × ${count}, just started`, { name, count }, {});
}
process.stdout.write(
  "\n" + formatTable(
    ["attack", "visitors", "failed", "median ms", "p99", "longest", "MB before", "MB peak", "MB held", "client MB"]
      .concat("descriptors", "streams", "back in s"),
    rows,
  ),
);
process.exit(0);
