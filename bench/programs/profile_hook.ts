// Loaded before a Portway program (`deno run --preload`). On SIGUSR2 it takes a CPU profile for PROFILE_SECONDS and
// writes it to PROFILE_FILE. An outside inspector would make the runtime report every WebSocket frame to it.
import { writeFileSync } from "node:fs";
import { Session } from "node:inspector";
import process from "node:process";

const file = process.env.PROFILE_FILE;
const seconds = Number(process.env.PROFILE_SECONDS);
const INTERVAL_US = 500;

if (file !== undefined) {
  process.once("SIGUSR2", () => {
    const session = new Session();
    session.connect();
    session.post("Profiler.enable");
    session.post("Profiler.setSamplingInterval", { interval: INTERVAL_US });
    session.post("Profiler.start");
    setTimeout(() => {
      session.post("Profiler.stop", (error, result) => {
        writeFileSync(file, JSON.stringify(error === null ? result.profile : null));
      });
    }, seconds * 1000);
  });
}
