export { createFileShare, type FileShareOptions } from "./share.ts";
