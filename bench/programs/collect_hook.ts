// Loaded before a program of ours (`deno run --preload`, with V8's flag --expose-gc): on SIGUSR2 it gives back what nothing
// holds. When V8 does that by itself is chance: a program without anything to do keeps the memory of its last requests,
// a quarter of all it has, for ten seconds or for an hour.
import process from "node:process";

const { gc } = globalThis as { gc?: (how: { type: "major"; flavor: "last-resort" }) => void };
if (gc === undefined) throw new Error("V8 needs --expose-gc");
process.on("SIGUSR2", () => gc({ type: "major", flavor: "last-resort" }));
