import assert from "node:assert/strict";
import { silentLogger } from "../../../common/log.ts";
import { connectRaw } from "../_raw_client.ts";
import { listenEdge } from "./listen.ts";

/** A request with a body, all of one letter, behind which the connection goes on. */
const post = (letter: string, size: number) =>
  `POST /${letter} HTTP/1.1\r\nhost: a\r\ncontent-length: ${size}\r\n\r\n${letter.repeat(size)}`;

for (const [name, size] of [["came with the head", 500], ["came behind it", 100_000]] as const) {
  Deno.test(`a piece of a body stays as it is while its reader has it, answered or not: it ${name}`, async () => {
    const kept: { letter: string; pieces: Uint8Array[] }[] = [];
    const listener = await listenEdge({ hostname: "127.0.0.1", port: 0, log: silentLogger }, async (exchange) => {
      const letter = exchange.path.slice(1);
      let last: Uint8Array = new Uint8Array(0), left = size;
      while (left > 0) {
        last = await exchange.readBody() ?? last;
        left -= last.length;
      }
      // The end of the body is not asked for, so the last piece is still its reader's.
      kept.push({ letter, pieces: [last] });
      return new Response("early");
    });
    const clients = [..."abcdefgh"].map((letter) => ({ letter, client: connectRaw(listener.port) }));
    for (const { letter, client } of clients) {
      client.send(post(letter, size));
      await client.until(/early$/);
      client.send(post(letter, size));
      await client.until(/early[^]*early$/);
    }
    for (const { letter, pieces: [piece] } of kept) {
      assert(piece.length > 0 && piece.every((byte) => byte === letter.charCodeAt(0)), `the piece of ${letter}`);
    }
    for (const { client } of clients) client.socket.destroy();
    listener.abort();
  });
}
