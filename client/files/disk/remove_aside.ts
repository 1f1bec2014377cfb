import fs from "node:fs";
import { retryLaterWhileHeld } from "../../../common/platform/mod.ts";
import { getErrorCode } from "./fs_error.ts";
import type { Root } from "./root.ts";

/**
 * Removes an entry that visitors can no longer see. An entry that the system refuses to remove stays until the share's
 * end, which tries again.
 */
export async function removeAside({ platform }: Pick<Root, "platform">, path: string): Promise<void> {
  try {
    await retryLaterWhileHeld(() => fs.promises.rm(path, { recursive: true, force: true }), { platform });
  } catch (error) {
    if (getErrorCode(error) === "") throw error;
  }
}
