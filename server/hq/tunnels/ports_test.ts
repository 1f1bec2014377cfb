import { deepEqual, equal, match } from "node:assert/strict";
import { formatPorts, parsePorts } from "./ports.ts";

Deno.test("parsePorts reads numbers and ranges, each port once and in order", () => {
  deepEqual(parsePorts("8080-8082, 3000;3000 8081"), [3000, 8080, 8081, 8082]);
  deepEqual(parsePorts(" 1 65535 "), [1, 65535]);
});

Deno.test("parsePorts says what is no port, and never shows all of a long text", () => {
  for (const text of ["0", "65536", "99999", "80-79", "http", "-1", "1.5", "8080-"]) {
    match(String(parsePorts(text)), /is no port/, text);
  }
  match(String(parsePorts("")), /at least one/);
  equal(String(parsePorts("x".repeat(10_000))).length < 120, true);
});

Deno.test("parsePorts takes 100 ports and refuses 101, in one range or several", () => {
  equal(parsePorts("1000-1099").length, 100);
  for (const text of ["1000-1100", "1000-1099 80", "1-65535", "1-60 300-350"]) {
    match(String(parsePorts(text)), /more than 100/);
  }
});

Deno.test("formatPorts writes what parsePorts reads", () => {
  const ports = [80, 3000, 3001, 3002, 8080];
  equal(formatPorts(ports.toReversed()), "80, 3000-3002, 8080");
  deepEqual(parsePorts(formatPorts(ports)), ports);
});
