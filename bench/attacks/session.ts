import type { Socket } from "node:net";
import { once } from "node:events";
import { SESSION_PATH, SUBPROTOCOL, TUNNEL_HEADER } from "../../protocol/mod.ts";
import { dial } from "./dial.ts";
import type { Tally, Victim } from "./types.ts";

/** An attacker's session. */
export interface RawSession {
  socket: Socket;
  /** Its tunnel's host. */
  host: string;
}

/** Opens a tunnel and its session by hand. The caller chooses each sent byte. */
export async function openSession(victim: Victim, tally: Tally, address = 1): Promise<RawSession> {
  const { id, secret, url } = await createTunnel(victim);
  const socket = await dial(victim, address, tally);
  if (socket === null) throw new Error("the server takes no connection for a session");
  socket.write(
    `GET ${SESSION_PATH} HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
      `sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n` +
      `sec-websocket-protocol: ${SUBPROTOCOL}\r\n${TUNNEL_HEADER}: ${id}\r\nauthorization: Bearer ${secret}\r\n\r\n`,
  );
  const [answer] = await Promise.race([once(socket, "data"), once(socket, "close")]) as [Uint8Array | boolean];
  if (typeof answer === "boolean") throw new Error("the server ended the connection of a session without a word");
  const text = new TextDecoder("latin1").decode(answer);
  if (!text.startsWith("HTTP/1.1 101 ")) throw new Error(`the session was refused: ${text}`);
  socket.resume();
  return { socket, host: new URL(url).host };
}

async function createTunnel({ port }: Victim): Promise<{ id: string; secret: string; url: string }> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/tunnels/ephemeral`, { method: "POST" });
  if (answer.status !== 201) throw new Error(`a tunnel was refused: ${await answer.text()}`);
  return await answer.json() as { id: string; secret: string; url: string };
}
