import assert from "node:assert/strict";
import { connect } from "node:net";
import { silentLogger } from "../../common/log.ts";
import { KINDS } from "./contract_kit_test.ts";
import { listen } from "./mod.ts";

const bytes = (size: number) => new Uint8Array(size).fill(0x61);
const withLength = (body: BodyInit | null, length: string) =>
  new Response(body, { headers: { "content-length": length } });

const wrong: [name: string, answer: () => Response][] = [
  ["too much at once", () => withLength(bytes(50), "3")],
  ["too much in pieces", () => withLength(ReadableStream.from([bytes(3), bytes(50)]), "3")],
  ["too little", () => withLength(ReadableStream.from([bytes(3)]), "30")],
  ["nothing", () => withLength(null, "30")],
  ["two lengths", () => withLength(bytes(3), "3, 40")],
  ["no number", () => withLength(bytes(3), "3x")],
];

/** What two requests on one connection get, until the server closes it or the second answer is there. */
async function askTwice(port: number): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.write("GET /1 HTTP/1.1\r\nhost: a\r\n\r\nGET /2 HTTP/1.1\r\nhost: a\r\n\r\n");
  await new Promise<void>((resolve) => {
    socket.on("error", () => resolve()).on("close", () => resolve());
    socket.on("data", (chunk) => {
      text += chunk;
      if (text.endsWith("second")) resolve();
    });
  });
  socket.destroy();
  return text;
}

for (const kind of KINDS) {
  for (const [name, answer] of wrong) {
    Deno.test(`${kind} listener: a body that does not fit its length (${name}) is never read as another answer`, async () => {
      const listener = await listen(
        kind,
        { hostname: "127.0.0.1", port: 0, log: silentLogger },
        (exchange) => exchange.path === "/1" ? answer() : new Response("second"),
      );
      const text = await askTwice(listener.port);
      listener.abort();
      const [head, ...rest] = text.split("\r\n\r\n");
      const length = /^content-length: (\d+)$/im.exec(head)?.[1];
      const after = rest.join("\r\n\r\n");
      if (text.endsWith("second") && length !== undefined) assert.match(after.slice(Number(length)), /^HTTP\/1\.1 200/);
      assert(!/content-length: \d*[^\d\r\n]/i.test(head), head);
    });
  }
}
