import type { ReleaseForm } from "../../common/release.ts";
import type { Runtime } from "./release_files.ts";

/** The program as this machine has it: an executable that can replace itself, or another tool's installation. */
export type Installation =
  | { readonly kind: "executable"; readonly file: string; readonly runtime: Runtime }
  | { readonly kind: "managed"; readonly by: string; readonly command: string };

/** The facts that tell installations apart. */
export interface InstallationFacts {
  readonly form: ReleaseForm;
  /** The running program, with symbolic links resolved. */
  readonly execPath: string;
  /** The module that runs. */
  readonly modulePath: string;
  /** The container image in which the program runs; empty elsewhere. */
  readonly image: string;
}

/** Paths of package managers' global folders, and of npx. */
const NODE_FOLDERS: readonly (readonly [path: RegExp, by: string, command: string])[] = [
  [/[/\\]_npx[/\\]/, "npx", "npx portway@latest"],
  [/[/\\]pnpm[/\\]global[/\\]/, "pnpm", "pnpm add --global portway@latest"],
  [/[/\\]\.bun[/\\]install[/\\]global[/\\]/, "Bun", "bun add --global portway@latest"],
  [/[/\\](?:lib|npm|nodejs)[/\\]node_modules[/\\]portway[/\\]/, "npm", "npm install --global portway@latest"],
];

/** Returns the installation to which a program belongs. */
export function findInstallation({ form, execPath, modulePath, image }: InstallationFacts): Installation {
  if (image !== "") return managed("a container image", `docker pull ${image}`);
  if (form === "source") return managed("git", "git pull");
  if (form === "npm") {
    const [, by, command] = NODE_FOLDERS.find(([path]) => path.test(modulePath)) ??
      ["", "npm", "npm install portway@latest"];
    return managed(by, command);
  }
  if (/[/\\]Cellar[/\\]/.test(execPath)) return managed("Homebrew", "brew upgrade portway");
  if (/[/\\]scoop[/\\]apps[/\\]/i.test(execPath)) return managed("Scoop", "scoop update portway");
  return { kind: "executable", file: execPath, runtime: form };
}

const managed = (by: string, command: string): Installation => ({ kind: "managed", by, command });
