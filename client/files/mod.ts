export { createFileShare, type FileShareOptions } from "./share.ts";
export { createGate } from "./sign_in/gate.ts";
export { createLoginRoutes, type LoginRoutes } from "./sign_in/login_routes.ts";
// What serving a site takes over from serving files.
export { getErrorCode, noSuchEntry, toHttpError } from "./disk/fs_error.ts";
export { type Folder, type OpenFile, openRoot, type Root } from "./disk/root.ts";
export { parseSharePath, serializePath, type SharePath } from "./disk/share_path.ts";
