export { createFileShare, type FileShareOptions } from "./share.ts";
// What serving a site takes over from serving files.
export { answerFile, type CodedForm, type FileAnswerOptions } from "./file_answer.ts";
export { getErrorCode, notFound, toHttpError } from "./fs_error.ts";
export { withoutBody } from "./head_answer.ts";
export { type Folder, type OpenFile, openRoot, type Root } from "./root.ts";
export { parseTargetPath, serializePath, type TargetPath } from "./target_path.ts";
