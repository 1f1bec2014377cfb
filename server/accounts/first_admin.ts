import { SERVER } from "./audit.ts";
import type { Shared } from "./forms/shared.ts";
import type { FirstAdmin } from "./types.ts";

/** Makes the admin whom the operator's options name, with an account, unless there is a user. */
export async function addFirstAdmin(
  { audit, loadAuth, store }: Pick<Shared, "audit" | "loadAuth" | "store">,
  { email, password }: FirstAdmin,
): Promise<void> {
  const passwordHash = await (await loadAuth()).hashPassword(password);
  // The operator pays for the server, whatever the plan of other new accounts.
  const plan = "paid";
  const user = { name: email.split("@", 1)[0], email, passwordHash, isAdmin: true, plan };
  // Another server on the same database may have been first.
  if (typeof await store.identities.addUser(user, "first") === "object") {
    await audit.write(SERVER, "admin_added", email);
  }
}
