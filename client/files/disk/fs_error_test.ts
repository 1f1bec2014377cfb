import { deepEqual } from "node:assert/strict";
import { HttpError } from "../../../common/http_error.ts";
import { toHttpError } from "./fs_error.ts";

const NOT_PERMITTED = "The system does not permit this.";
const OR_OPEN = "The system does not permit this, or a program has it open.";

const ANSWERS: readonly [code: string, platform: string, status: number, name: string, message?: string][] = [
  ["EPERM", "linux", 403, "not_permitted", NOT_PERMITTED],
  ["EACCES", "darwin", 403, "not_permitted", NOT_PERMITTED],
  ["EPERM", "win32", 403, "not_permitted", OR_OPEN],
  ["EACCES", "win32", 403, "not_permitted", OR_OPEN],
  ["EBUSY", "win32", 409, "in_use"],
  ["EBUSY", "linux", 409, "in_use"],
  ["ENOENT", "win32", 404, "not_found"],
  ["ENOTDIR", "linux", 404, "not_found"],
  ["ENOSPC", "win32", 507, "disk_full"],
  ["UNKNOWN", "win32", 500, "internal_error"],
];

Deno.test("toHttpError answers what each system says, and tells of a file that Windows keeps for another program", () => {
  for (const [code, platform, status, name, message] of ANSWERS) {
    const known = toHttpError(Object.assign(new Error(code), { code }), platform);
    deepEqual([known.status, known.code], [status, name], `${platform} ${code}`);
    if (message !== undefined) deepEqual(known.message, message, `${platform} ${code}`);
  }
});

Deno.test("toHttpError leaves an answer as it is, and tells nobody of a mistake of ours", () => {
  const answer = new HttpError(418, "teapot", "short and stout");
  deepEqual(toHttpError(answer), answer);
  deepEqual([toHttpError("text").status, toHttpError(new TypeError("x")).status], [500, 500]);
});
