import { deepEqual, equal, rejects } from "node:assert/strict";
import { z } from "zod";
import { badField, checkInput, readJsonBody } from "./check_input.ts";
import { HttpError } from "../../common/http_error.ts";

const SCHEMA = z.strictObject({
  name: z.string().min(1).max(3),
  ports: z.union([z.literal("all"), z.array(z.int().min(1)).max(2)]).optional(),
});

/** Code, field and message of what the input is refused with. */
function refusalOf(input: unknown): unknown[] {
  try {
    return [checkInput(SCHEMA, input)];
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    const { field } = (error.body?.error ?? {}) as Record<string, unknown>;
    return [error.status, error.code, field, error.message];
  }
}

Deno.test("checkInput names the field that cannot be used, and never a value", () => {
  deepEqual(checkInput(SCHEMA, { name: "a", ports: [1] }), { name: "a", ports: [1] });
  for (
    const [input, field, message] of [
      [{}, "name", 'Field "name" must be given.'],
      [{ name: "long!" }, "name", 'Field "name" must have at most 3 characters.'],
      [{ name: "a", other: 1 }, "other", 'Field "other" is not known.'],
      [{ name: "a", ports: [1, 0] }, "ports.1", 'Field "ports.1" must be at least 1.'],
      [{ name: "a", ports: [1, 2, 3] }, "ports", 'Field "ports" must have at most 2 entries.'],
      [[], undefined, "The body must be a JSON object."],
      [null, undefined, "The body must be a JSON object."],
    ] as const
  ) deepEqual(refusalOf(input), [400, "bad_request", field, message]);
});

Deno.test("badField says the same in its message and in the field of its body", () => {
  const { status, body } = badField("days", "must be given");
  deepEqual([status, body], [400, {
    error: { code: "bad_request", message: 'Field "days" must be given.', field: "days" },
  }]);
});

/** A body that comes in pieces of `size` bytes. */
function inPieces(text: string, size: number) {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return {
    readBody() {
      const piece = bytes.subarray(at, at += size);
      return Promise.resolve(piece.length > 0 ? piece : null);
    },
  };
}

Deno.test("readJsonBody reads JSON in pieces of any size, and refuses what is none or too long", async () => {
  for (const size of [1, 2, 100]) deepEqual(await readJsonBody(inPieces('{"a":"ä€"}', size)), { a: "ä€" });
  await rejects(readJsonBody(inPieces("{", 1)), { status: 400, code: "bad_request" });
  await rejects(readJsonBody(inPieces("", 1)), { status: 400, code: "bad_request" });
  equal(await readJsonBody(inPieces('"12345678"', 3), 10), "12345678");
  await rejects(readJsonBody(inPieces('"123456789"', 3), 10), { status: 413, code: "body_too_large" });
});
