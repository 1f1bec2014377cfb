// Loaded before a Portway program (`deno run --preload`, with V8's flag --expose-gc). On SIGUSR2 it collects garbage.
// V8's own timing is random: an idle program keeps the memory from its last requests, a quarter of the total, for ten
// seconds or for an hour.
import process from "node:process";

const { gc } = globalThis as { gc?: (how: { type: "major"; flavor: "last-resort" }) => void };
if (gc === undefined) throw new Error("V8 needs --expose-gc");
process.on("SIGUSR2", () => gc({ type: "major", flavor: "last-resort" }));
