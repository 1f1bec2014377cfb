import { type Browser as Chromium, chromium } from "playwright-core";

/** Headless Chromium. Disposing of it ends it. */
export type Browser = Chromium & AsyncDisposable;

const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
  "--host-resolver-rules=MAP *.example.test 127.0.0.1",
];

/** Starts the Chromium of the system; names below `localhost` and `example.test` resolve in it, to this machine. */
export async function openBrowser(): Promise<Browser> {
  return await chromium.launch({ executablePath: "/usr/bin/chromium", args: ARGS });
}
