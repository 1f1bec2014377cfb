import { deepEqual, equal, throws } from "node:assert/strict";
import { decodeLatin1 } from "../../../net/http1/mod.ts";
import { FieldEdits } from "./edits.ts";

Deno.test("FieldEdits.serialize returns the last value of each field, and no line for a removed one", () => {
  const edits = new FieldEdits();
  edits.set("portway-user", "ann");
  edits.set("cookie", null);
  edits.set("portway-user", "bob");
  const lines = edits.serialize();
  equal(decodeLatin1(lines, 0, lines.length), "portway-user: bob\r\n");
  deepEqual([...edits.names], ["portway-user", "cookie"]);
});

Deno.test("FieldEdits.set refuses values that would add fields, and fields that frame the message", () => {
  const edits = new FieldEdits();
  for (const value of ["a\r\nb: c", "a\n", "\0", "\u0100"]) {
    throws(() => edits.set("a", value), /malformed field value/);
  }
  for (const name of ["", "a b", "a:", "A"]) throws(() => edits.set(name, ""), /malformed field name/);
  for (const name of ["host", "content-length", "transfer-encoding", "connection"]) {
    throws(() => edits.set(name, null), /frames the message/);
  }
});
