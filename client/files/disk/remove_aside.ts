import fs from "node:fs";
import { retryLaterWhileHeld } from "../../../common/platform/mod.ts";
import { getErrorCode } from "./fs_error.ts";
import type { Root } from "./root.ts";

/**
 * Removes what is out of sight of visitors. What the system does not let be removed stays there, and the end of the share
 * tries again.
 */
export async function removeAside({ platform }: Pick<Root, "platform">, path: string): Promise<void> {
  try {
    await retryLaterWhileHeld(() => fs.promises.rm(path, { recursive: true, force: true }), { platform });
  } catch (error) {
    if (getErrorCode(error) === "") throw error;
  }
}
