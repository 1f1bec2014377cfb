export { foldName, isPlainName, isShortName } from "./names.ts";
export { isHeldOpen, retryLaterWhileHeld, retryWhileHeld } from "./retry_while_held.ts";
export { syncFolder } from "./sync_folder.ts";
