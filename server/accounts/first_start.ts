import type { Logger } from "../../common/log.ts";
import type { Store } from "../store/mod.ts";
import { type Audit, SERVER } from "./audit.ts";
import type { Auth } from "./better_auth/auth.ts";
import { createSecret } from "../../common/secret.ts";

/** The first user, as the operator's options name it. */
export interface FirstAdmin {
  /** In lower case. */
  email: string;
  password: string;
}

/** What a server without users needs to get its first one. */
export interface FirstStartOptions {
  store: Pick<Store, "identities">;
  loadAuth(): Promise<Auth>;
  audit: Audit;
  log: Logger;
  /** Of HQ. */
  origin: string;
  admin: FirstAdmin | null;
}

/** The token of the link by which the first user is made; null when there are users. */
export interface SetUp {
  token: string | null;
}

/** While there is no user: makes the admin that the options name, or writes a link to the log that makes one, once. */
export async function beginFirstStart(options: FirstStartOptions): Promise<SetUp> {
  const { admin, audit, loadAuth, log, origin, store } = options;
  if (await store.identities.hasUsers()) return { token: null };
  if (admin === null) {
    const token = createSecret();
    log.info("set_up", { link: `${origin}/setup?token=${token}`, hint: "makes the first user, who is an admin" });
    return { token };
  }
  const auth = await loadAuth();
  const name = admin.email.split("@", 1)[0];
  const added = await auth.createUser({ ...admin, name, isAdmin: true });
  // Another server on the same database was first.
  if (added === null) return { token: null };
  await auth.createAccount(added.id, name);
  await audit.write(SERVER, "admin_added", admin.email);
  return { token: null };
}
