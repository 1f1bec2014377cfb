import { spawn } from "node:child_process";
import process from "node:process";

type Environment = Readonly<Record<string, string | undefined>>;

/** An opener that cannot do it says so at once; one that ends later ends with the browser. */
const FAILS_WITHIN_MS = 3000;

/**
 * The command that shows `url` in the user's default browser, or null where there is none to be seen: over SSH, and on
 * Linux without a display. A URL passes no shell, so nothing in it is a command.
 */
export function findBrowserCommand(url: string, platform: string, env: Environment): [string, ...string[]] | null {
  // It would open on the machine at the other end.
  if (env.SSH_CONNECTION || env.SSH_TTY) return null;
  if (platform === "darwin") return ["open", url];
  // By its path: Windows looks for a bare name in the current folder first, which may be one of downloads.
  if (platform === "win32") return [findSystemProgram("rundll32.exe", env), "url.dll,FileProtocolHandler", url];
  // The Windows around a Linux of WSL has the browser, whether that Linux has a display or not.
  if (env.WSL_DISTRO_NAME) return ["explorer.exe", url];
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ["xdg-open", url] : null;
}

function findSystemProgram(name: string, env: Environment): string {
  return `${env.SystemRoot || env.SYSTEMROOT || env.windir || "C:\\Windows"}\\System32\\${name}`;
}

/** A browser that was asked to show something. */
export interface OpenedBrowser {
  /** Resolves when it turns out that it did not. Never rejects; never resolves when it did. */
  readonly failed: Promise<void>;
}

/** Shows `url` in the default browser; null where there is none. What the browser prints is not shown. */
export function openBrowser(url: string, env: Environment): OpenedBrowser | null {
  const command = findBrowserCommand(url, process.platform, env);
  if (command === null) return null;
  const [program, ...args] = command;
  const child = spawn(program, args, { stdio: "ignore", detached: true });
  // It outlives this program. One that did not start has nothing to let go of, and Deno throws then.
  child.on("spawn", () => child.unref());
  const startedAt = performance.now();
  const failed = new Promise<void>((resolve) => {
    child.on("error", () => resolve());
    child.on("exit", (code) => {
      // Windows' explorer ends with 1 when all went well.
      const isFailure = code !== 0 && program !== "explorer.exe";
      if (isFailure && performance.now() - startedAt < FAILS_WITHIN_MS) resolve();
    });
  });
  return { failed };
}
