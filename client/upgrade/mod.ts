export { findInstallation } from "./installation.ts";
export { CHECKSUMS, findTarget, nameExecutable, type Runtime, type Target, TARGETS } from "./release_files.ts";
export { upgrade, upgradeOptions } from "./upgrade.ts";
