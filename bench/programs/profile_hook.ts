// Loaded before a program of ours (`deno run --preload`): on SIGUSR2 takes a CPU profile for PROFILE_SECONDS and
// writes it to PROFILE_FILE. An inspector from outside would make the runtime report every WebSocket frame to it.
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
