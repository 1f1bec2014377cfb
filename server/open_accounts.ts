import type { Logger } from "../common/log.ts";
import { nameSource, OptionError } from "../common/options.ts";
import { type Accounts, createAccounts } from "./accounts/mod.ts";
import { type ServerConfig, serverOptions } from "./config.ts";
import { openOriginReader } from "./open_origin_reader.ts";
import type { Store } from "./store/mod.ts";

/**
 * Accounts as the options want them.
 * @throws OptionError for an admin without a password, or the other way round
 */
export async function openAccounts(config: ServerConfig, store: Store, url: URL, log: Logger): Promise<Accounts> {
  const { adminEmail, adminPassword, mailFrom, signUp, smtpUrl, defaultPlan } = config;
  if ((adminEmail === null) !== (adminPassword === null)) {
    const given = nameSource(serverOptions, config, adminEmail === null ? "adminPassword" : "adminEmail");
    const missing = adminEmail === null ? "PORTWAY_ADMIN_EMAIL" : "PORTWAY_ADMIN_PASSWORD";
    throw new OptionError(`${given}: ${missing} is wanted too`);
  }
  const admin = adminEmail === null || adminPassword === null ? null : { email: adminEmail, password: adminPassword };
  const mail = smtpUrl === null ? null : { url: smtpUrl, from: mailFrom ?? `Portway <portway@${url.hostname}>` };
  const readOrigin = openOriginReader(config);
  return await createAccounts({ store, log, readOrigin, origin: url.origin, signUp, defaultPlan, mail, admin });
}
