/** Saves tunnels like a separate client once its input ends: `<folder> <tunnels as JSON>`. */
import process from "node:process";
import { text } from "node:stream/consumers";
import { type SavedTunnel, SavedTunnels } from "./saved_tunnels.ts";

const [folder, tunnels] = process.argv.slice(2);
process.stdout.write("ready\n");
await text(process.stdin);
for (const tunnel of JSON.parse(tunnels) as SavedTunnel[]) new SavedTunnels(folder).save(tunnel, 0);
