import type { Logger } from "../../common/log.ts";
import { nameSource, OptionError } from "../../common/options.ts";
import { createSecret } from "../../common/secret.ts";
import type { FirstAdmin, SetUp } from "../accounts/mod.ts";
import { type ServerConfig, serverOptions } from "../config.ts";
import type { Store } from "../store/mod.ts";

/** What is to be done while there is no user. */
export interface FirstStart {
  /** For the one who comes by the link in the log. */
  setUp: SetUp;
  /** Whom the options name; null where there are users, or none is named. */
  admin: FirstAdmin | null;
}

/**
 * Looks whether there are users. Without, and without options that name the first, a link in the log makes one, once.
 * @throws OptionError for an admin without a password, or the other way round
 */
export async function beginFirstStart(
  config: Pick<ServerConfig, "adminEmail" | "adminPassword">,
  { identities }: Pick<Store, "identities">,
  origin: string,
  log: Logger,
): Promise<FirstStart> {
  const admin = readAdmin(config);
  if (await identities.hasUsers()) return { setUp: { token: null }, admin: null };
  if (admin !== null) return { setUp: { token: null }, admin };
  const token = createSecret();
  log.info("set_up", { link: `${origin}/setup?token=${token}`, hint: "makes the first user, who is an admin" });
  return { setUp: { token }, admin };
}

function readAdmin(config: Parameters<typeof beginFirstStart>[0]): FirstAdmin | null {
  const { adminEmail: email, adminPassword: password } = config;
  if (email !== null && password !== null) return { email, password };
  if (email === null && password === null) return null;
  const given = nameSource(serverOptions, config, email === null ? "adminPassword" : "adminEmail");
  const missing = email === null ? "PORTWAY_ADMIN_EMAIL" : "PORTWAY_ADMIN_PASSWORD";
  throw new OptionError(`${given}: ${missing} is wanted too`);
}
