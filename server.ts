import process from "node:process";

// The same program as `portway server`.
process.argv.splice(2, 0, "server");
await import("./cli.ts");
