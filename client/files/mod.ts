export { createFileShare, type FileShareOptions } from "./share.ts";
// What serving a site takes over from serving files.
export { answerFile, type CodedForm, type FileAnswerOptions } from "./serve/file_answer.ts";
export { getErrorCode, notFound, toHttpError } from "./disk/fs_error.ts";
export { withoutBody } from "./serve/head_answer.ts";
export { type Folder, type OpenFile, openRoot, type Root } from "./disk/root.ts";
export { parseTargetPath, serializePath, type TargetPath } from "./disk/target_path.ts";
