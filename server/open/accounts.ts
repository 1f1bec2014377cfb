import type { Logger } from "../../common/log.ts";
import { type Accounts, createAccounts } from "../accounts/mod.ts";
import type { ServerConfig } from "../config.ts";
import { openOriginReader } from "./origin_reader.ts";
import type { Store } from "../store/mod.ts";

/** Opens accounts by the options. @param url HQ's URL */
export function openAccounts(config: ServerConfig, store: Store, url: URL, log: Logger): Accounts {
  const { mailFrom, signup, smtpUrl, defaultPlan } = config;
  const mail = smtpUrl === null ? null : { url: smtpUrl, from: mailFrom ?? `Portway <portway@${url.hostname}>` };
  const readOrigin = openOriginReader(config);
  return createAccounts({ store, log, readOrigin, origin: url.origin, signUp: signup, defaultPlan, mail });
}
