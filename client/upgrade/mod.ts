export { CHECKSUMS, findTarget, nameExecutable, type Runtime, type Target, TARGETS } from "./release_files.ts";
