import { realpathSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { FlagTexts } from "../common/command_line/mod.ts";
import { resolveOptions } from "../common/options.ts";
import { writeText } from "../common/output/mod.ts";
import { BUILD, RELEASE } from "../common/release.ts";
import { listenForStop } from "../common/stop_signal.ts";
import { loadCaCerts, openConnector, readProxyRules } from "../net/connection/mod.ts";
import { findInstallation, upgrade, upgradeOptions } from "./upgrade/mod.ts";

/** The variable by which a container image names itself. */
const IMAGE_VARIABLE = "PORTWAY_IMAGE";

/**
 * Runs `portway upgrade`.
 * @returns the exit code
 * @throws UpgradeFailed, OptionError
 */
export async function runUpgrade(flags: FlagTexts): Promise<number> {
  const { env, platform, arch } = process, stop = listenForStop();
  try {
    const caCerts = await loadCaCerts({ NODE_EXTRA_CA_CERTS: env.NODE_EXTRA_CA_CERTS });
    return await upgrade({
      build: BUILD,
      version: RELEASE,
      installation: findInstallation({
        form: BUILD.form,
        execPath: realpathSync(process.execPath),
        modulePath: fileURLToPath(import.meta.url),
        image: env[IMAGE_VARIABLE] ?? "",
      }),
      platform,
      arch,
      connect: openConnector({ proxies: readProxyRules(env), caCerts }),
      signal: stop.signal,
      print: (line) => writeText(process.stdout, `${line}\n`),
    }, resolveOptions(upgradeOptions, { flags, env }));
  } finally {
    stop.release();
  }
}
