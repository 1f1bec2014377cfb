import type { Logger } from "../../common/log.ts";
import { nameSource, OptionError } from "../../common/options.ts";
import { createSecret, hashSecret } from "../../common/secret.ts";
import type { FirstAdmin } from "../accounts/mod.ts";
import { type ServerConfig, serverOptions } from "../config.ts";
import { SET_UP, type Store } from "../store/mod.ts";

/**
 * Prepares the creation of the first user. Without users, and without an admin in the options, each start logs a new
 * set-up link. The store keeps the latest token's hash, and the token works once.
 * @returns the admin that the options name, to be created; null if users exist or the link creates the first
 * @throws OptionError for an admin without a password, and for a password without an admin
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
  log.info("set_up", { link: `${origin}/setup?token=${token}`, hint: "creates the first user, an admin" });
  return null;
}

function readAdmin(config: Parameters<typeof beginFirstStart>[0]): FirstAdmin | null {
  const { adminEmail: email, adminPassword: password } = config;
  if (email !== null && password !== null) return { email, password };
  if (email === null && password === null) return null;
  const given = nameSource(serverOptions, config, email === null ? "adminPassword" : "adminEmail");
  const missing = email === null ? "PORTWAY_ADMIN_EMAIL" : "PORTWAY_ADMIN_PASSWORD";
  throw new OptionError(`${given}: ${missing} is required too`);
}
