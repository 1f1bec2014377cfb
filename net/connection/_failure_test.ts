import { equal } from "node:assert/strict";
import { describeFailure, describeTlsFailure, isFailedLookup } from "./_failure.ts";

const WORDS: readonly [message: string, isLookup: boolean][] = [
  ["failed to lookup address information: Name or service not known", true],
  ["failed to lookup address information: nodename nor servname provided, or not known", true],
  ["No such host is known. (os error 11001)", true],
  ["Der angegebene Host ist unbekannt. (os error 11001)", true],
  ["The requested name is valid, but no data of the requested type was found. (os error 11004)", true],
  ["No connection could be made because the target machine actively refused it. (os error 10061)", false],
  ["Connection refused (os error 111)", false],
  ["a host named 11001", false],
];

Deno.test("isFailedLookup knows a name that does not resolve by what each system says", () => {
  for (const [message, isLookup] of WORDS) equal(isFailedLookup(message), isLookup, message);
});

Deno.test("describeFailure says in one way what systems word in many", () => {
  const refused = Object.assign(new Error("actively refused it. (os error 10061)"), { code: "ECONNREFUSED" });
  equal(describeFailure("cannot connect", refused).message, "cannot connect: connection refused");
  const unknown = new Error("No such host is known. (os error 11001)");
  equal(describeFailure("cannot connect", unknown).message, "cannot connect: no such host");
});

Deno.test("describeTlsFailure says in one way that the peer does not speak TLS, and what else a runtime says as it is", () => {
  const words = [
    "received corrupt message of type InvalidContentType",
    "wrong version number",
    "packet length too long",
  ];
  for (const reason of words) {
    const cause = reason.includes("corrupt")
      ? new Error(reason)
      : Object.assign(new Error("error:0A00010B"), { reason });
    equal(describeTlsFailure("h", cause).message, "cannot speak TLS with h: what answers there does not");
  }
  const expired = new Error("invalid peer certificate: Expired");
  equal(describeTlsFailure("h", expired).message, "cannot speak TLS with h: invalid peer certificate: Expired");
});
