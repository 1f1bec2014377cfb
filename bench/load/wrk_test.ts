import assert from "node:assert/strict";
import { parseWrk } from "./wrk.ts";

const REPORT = `Running 2s test @ http://127.0.0.1:9310/
  1 threads and 128 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   613.00us  120.00us   1.02s    99.50%
    Req/Sec    13.47k     1.20k   15.00k    90.99%
  Latency Distribution
     50%  612.00us
     75%    1.10ms
     90%    2.00ms
     99%    1.02s
  40548 requests in 3.01s, 3.40MB read
Requests/sec:  13471.10
Transfer/sec:      1.13MB
`;

Deno.test("parseWrk reads counts and brings times to milliseconds", () => {
  assert.deepEqual(parseWrk(REPORT), { requests: 40548, perSecond: 13471.1, p50Ms: 0.612, p99Ms: 1020 });
});

Deno.test("parseWrk refuses a run in which requests failed", () => {
  assert.throws(() => parseWrk(`${REPORT}  Non-2xx or 3xx responses: 7\n`), /7 requests/);
});

Deno.test("parseWrk refuses a run in which nothing was answered", () => {
  assert.throws(() => parseWrk("unable to connect"), /no request got a response/);
});
