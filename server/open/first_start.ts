import type { Logger } from "../../common/log.ts";
import { nameSource, OptionError } from "../../common/options.ts";
import { createSecret, hashSecret } from "../../common/secret.ts";
import type { FirstAdmin } from "../accounts/mod.ts";
import { type ServerConfig, serverOptions } from "../config.ts";
import { SET_UP, type Store } from "../store/mod.ts";

/**
 * Prepares the making of the first user. While there is none and the options name none, each start logs a new link that
 * makes one; the store keeps the hash of the latest link's token, which works once.
 * @returns the admin whom the options name, to be made; null where there are users, or the link makes the first
 * @throws OptionError for an admin without a password, or the other way round
 */
export async function beginFirstStart(
  config: Pick<ServerConfig, "adminEmail" | "adminPassword">,
  { identities, settings }: Pick<Store, "identities" | "settings">,
  origin: string,
  log: Logger,
): Promise<FirstAdmin | null> {
  const admin = readAdmin(config);
  if (await identities.hasUsers()) return null;
  if (admin !== null) return admin;
  const token = createSecret();
  await settings.set(SET_UP, hashSecret(token));
  log.info("set_up", { link: `${origin}/setup?token=${token}`, hint: "makes the first user, who is an admin" });
  return null;
}

function readAdmin(config: Parameters<typeof beginFirstStart>[0]): FirstAdmin | null {
  const { adminEmail: email, adminPassword: password } = config;
  if (email !== null && password !== null) return { email, password };
  if (email === null && password === null) return null;
  const given = nameSource(serverOptions, config, email === null ? "adminPassword" : "adminEmail");
  const missing = email === null ? "PORTWAY_ADMIN_EMAIL" : "PORTWAY_ADMIN_PASSWORD";
  throw new OptionError(`${given}: ${missing} is wanted too`);
}
