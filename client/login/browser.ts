import { spawn } from "node:child_process";
import process from "node:process";

type Environment = Readonly<Record<string, string | undefined>>;

/** Time within which a browser launcher reports failure. A later exit means only that the browser was closed. */
const FAILS_WITHIN_MS = 3000;

/**
 * Returns the command that opens `url` in the default browser, or null if the user could not see one: over SSH, or on
 * Linux without a display. No shell interprets the URL, so it cannot inject a command.
 */
export function findBrowserCommand(url: string, platform: string, env: Environment): [string, ...string[]] | null {
  // The browser would open on the remote machine.
  if (env.SSH_CONNECTION || env.SSH_TTY) return null;
  if (platform === "darwin") return ["open", url];
  // An absolute path, because Windows searches the current folder first, which may hold untrusted downloads.
  if (platform === "win32") return [findSystemProgram("rundll32.exe", env), "url.dll,FileProtocolHandler", url];
  // Under WSL, the surrounding Windows has the browser, with or without a Linux display.
  if (env.WSL_DISTRO_NAME) return ["explorer.exe", url];
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ["xdg-open", url] : null;
}

function findSystemProgram(name: string, env: Environment): string {
  return `${env.SystemRoot || env.SYSTEMROOT || env.windir || "C:\\Windows"}\\System32\\${name}`;
}

/** A browser launch in progress. */
export interface OpenedBrowser {
  /** Resolves if the launch fails. Never rejects, and stays pending after a success. */
  readonly failed: Promise<void>;
}

/** Opens `url` in the default browser and discards the browser's output. Returns null if no browser is available. */
export function openBrowser(url: string, env: Environment): OpenedBrowser | null {
  const command = findBrowserCommand(url, process.platform, env);
  if (command === null) return null;
  const [program, ...args] = command;
  const child = spawn(program, args, { stdio: "ignore", detached: true });
  // The browser outlives this program. `unref` waits for the spawn, because Deno throws for a process that never
  // started.
  child.on("spawn", () => child.unref());
  const startedAt = performance.now();
  const failed = new Promise<void>((resolve) => {
    child.on("error", () => resolve());
    child.on("exit", (code) => {
      // Windows Explorer exits with 1 after a success.
      const isFailure = code !== 0 && program !== "explorer.exe";
      if (isFailure && performance.now() - startedAt < FAILS_WITHIN_MS) resolve();
    });
  });
  return { failed };
}
