export { decodeText } from "./decode_text.ts";
export { isRunning } from "./is_running.ts";
export { nameCommand } from "./name_command.ts";
export { foldName, isPlainName, isShortName } from "./names.ts";
export { isHeldOpen, retryLaterWhileHeld, retryWhileHeld } from "./retry_while_held.ts";
export { mayHaveShortNames } from "./short_names.ts";
export { syncFolder, syncFolderAt } from "./sync_folder.ts";
export { tuneV8 } from "./tune_v8.ts";
