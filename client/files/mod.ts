export { createFileShare, type FileShareOptions } from "./share.ts";
// What serving a site takes over from serving files.
export { getErrorCode, notFound, toHttpError } from "./disk/fs_error.ts";
export { type Folder, type OpenFile, openRoot, type Root } from "./disk/root.ts";
export { parseTargetPath, serializePath, type TargetPath } from "./disk/target_path.ts";
