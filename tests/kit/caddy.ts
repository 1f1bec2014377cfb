import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findFreePort } from "./free_port.ts";
import { type Framework, startFramework } from "./frameworks.ts";

export interface Caddy extends Framework {
  /** PEM of the authority that signs its certificates, and the file that has it. */
  readonly ca: string;
  readonly caFile: string;
}

/**
 * Starts Caddy with the file that people copy from `deploy/`; only ports and who signs are others.
 * @param folder for what it keeps
 * @param upstream port of the server
 * @param port for HTTPS
 */
export async function startCaddy(folder: string, upstream: number, port: number): Promise<Caddy> {
  const config = join(folder, "Caddyfile");
  const lines = ["admin off", "local_certs", "skip_install_trust", `http_port ${findFreePort()}`, `https_port ${port}`];
  const text = await readFile(new URL("../../deploy/Caddyfile", import.meta.url), "utf8");
  const global = text.replaceAll(":8787", `:${upstream}`).replace("\n{\n", `\n{\n\t${lines.join("\n\t")}\n`);
  await writeFile(config, global);
  const command = ["env", `XDG_DATA_HOME=${folder}`, `XDG_CONFIG_HOME=${folder}`, `HOME=${folder}`, "caddy", "run"];
  await using stack = new AsyncDisposableStack();
  const caddy = stack.use(
    await startFramework(
      [...command, "--config", config, "--adapter", "caddyfile"],
      port,
      /serving initial configuration/,
      folder,
    ),
  );
  const caFile = join(folder, "caddy", "pki", "authorities", "local", "root.crt");
  const ca = await readFile(caFile, "utf8"), owned = stack.move();
  return { ...caddy, ca, caFile, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
