import { deepEqual, equal } from "node:assert/strict";
import { EventEmitter } from "node:events";
import { listenForStop } from "./stop_signal.ts";

const SIGNALS: readonly [platform: string, ignoresHangup: boolean, heard: string[], unheard: string[]][] = [
  ["win32", false, ["SIGINT", "SIGBREAK", "SIGHUP"], ["SIGTERM"]],
  ["darwin", false, ["SIGINT", "SIGTERM", "SIGHUP"], ["SIGBREAK"]],
  ["linux", false, ["SIGINT", "SIGTERM", "SIGHUP"], ["SIGBREAK"]],
  ["linux", true, ["SIGINT", "SIGTERM"], ["SIGHUP", "SIGBREAK"]],
];

Deno.test("listenForStop hears what each system has to end a program, and leaves the rest alone", () => {
  for (const [platform, ignoresHangup, heard, unheard] of SIGNALS) {
    for (const name of heard) {
      const source = new EventEmitter(), stop = listenForStop(platform, source, ignoresHangup);
      deepEqual(source.eventNames(), heard, platform);
      for (const other of unheard) source.emit(other, other);
      equal(stop.signal.aborted, false, platform);
      source.emit(name, name);
      equal(stop.signal.reason, name, platform);
    }
  }
});

Deno.test("listenForStop listens until it is released, and once it was told to end until the process ends", () => {
  const source = new EventEmitter();
  listenForStop("win32", source).release();
  deepEqual(source.eventNames(), []);
  const stop = listenForStop("linux", source, true);
  source.emit("SIGTERM", "SIGTERM");
  stop.release();
  deepEqual(source.eventNames(), ["SIGINT", "SIGTERM"]);
  // The same press, passed on by what stands in front.
  source.emit("SIGTERM", "SIGTERM");
});
