import { SERVER } from "./audit.ts";
import type { Shared } from "./forms/shared.ts";
import type { FirstAdmin } from "./types.ts";

/** Makes the admin that the operator's options name, with an account, while there is no user. */
export async function addFirstAdmin(
  { audit, loadAuth }: Pick<Shared, "audit" | "loadAuth">,
  admin: FirstAdmin,
): Promise<void> {
  const auth = await loadAuth();
  const name = admin.email.split("@", 1)[0];
  const added = await auth.createUser({ ...admin, name, isAdmin: true });
  // Another server on the same database was first.
  if (added === null) return;
  await auth.createAccount(added.id, name);
  await audit.write(SERVER, "admin_added", admin.email);
}
