import { readSourceVersion } from "./source_version.ts";

/** The form in which a program runs: from source, as the npm package, or as an executable with Deno or Node inside. */
export type ReleaseForm = "source" | "npm" | "deno" | "node";

/** Facts about one build. */
export interface Build {
  /** The version that users see; null for source, whose version comes from deno.json and the commit. */
  readonly version: string | null;
  readonly form: ReleaseForm;
  /** The URL under which `latest/download/` has the newest release's files; null when no release is published. */
  readonly releases: string | null;
  /** The minisign public key that signs the checksums; null when no release is published. */
  readonly key: string | null;
}

/** The facts about this build. `scripts/package/release.ts` replaces this line in the copy that it builds from. */
export const BUILD: Build = { version: null, form: "source", releases: null, key: null };

/** The version that users see: `1.2.3` for a release, `1.2.3-dev.g0123abc` for a commit between releases. */
export const RELEASE: string = BUILD.version ?? readSourceVersion();
/** The program's name for users. */
export const PROJECT = "Portway";
