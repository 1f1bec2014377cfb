import { deepEqual, equal } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { startRawUpstream, startTestProxy } from "./proxy_kit.ts";

Deno.test("proxy asks for the bytes that a redirect has, percent-encoded, as browsers do", async () => {
  const cases: [location: Uint8Array, wanted: string][] = [
    [Buffer.from("/straße?q=ü"), "/stra%C3%9Fe?q=%C3%BC"],
    [Buffer.from("/straße", "latin1"), "/stra%DFe"],
    [Buffer.from("/stra%C3%9Fe?a b"), "/stra%C3%9Fe?a%20b"],
  ];
  for (const [location, wanted] of cases) {
    const asked: string[] = [];
    await using upstream = startRawUpstream(async (connection, received) => {
      asked.push(received.split(" ")[1]);
      const head = asked.length === 1
        ? [Buffer.from("HTTP/1.1 302 Found\r\nLocation: "), location, Buffer.from("\r\n")]
        : [Buffer.from("HTTP/1.1 200 OK\r\n")];
      await connection.write(Buffer.concat([...head, Buffer.from("Connection: close\r\nContent-Length: 0\r\n\r\n")]));
      connection.close();
    });
    await using proxy = await startTestProxy({ proxyAllow: "127.0.0.1" });
    const answer = await (await proxy.request({ url: upstream.url })).json();
    deepEqual(asked, ["/", wanted]);
    equal(answer.finalUrl, upstream.url + wanted);
  }
});

Deno.test("proxy reads the name of a host in a redirect as UTF-8", async () => {
  await using upstream = startRawUpstream(async (connection) => {
    await connection.write(
      Buffer.from("HTTP/1.1 302 Found\r\nLocation: http://１０.0.0.1/\r\nContent-Length: 0\r\n\r\n"),
    );
    connection.close();
  });
  await using proxy = await startTestProxy({ proxyAllow: "127.0.0.1" });
  const answer = await (await proxy.request({ url: upstream.url })).json();
  equal(answer.error.message, '"10.0.0.1" is not a public address.');
});
