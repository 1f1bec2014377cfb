import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type LoginPage, PAGE_HEADERS, renderResultPage } from "./page.ts";

/** What the server sent the browser back with. */
export type Returned =
  | { code: string; error?: undefined }
  | { code?: undefined; /** Such as `access_denied`. */ error: string; description: string | null };

/** The one return that was waited for. */
export interface Callback {
  readonly returned: Returned;
  /** Tells the browser how it ended; resolves when that is with it. To be called once. */
  answer(page: LoginPage): Promise<void>;
}

/** Where a login in the browser comes back to, and what proves that it is that login. */
export interface CallbackOptions {
  /** On 127.0.0.1 and ::1. */
  port: number;
  /** What this login, and nobody else, has given the server to send back. */
  state: string;
  /** Who must have sent the browser back, where the server says it (RFC 9207). */
  issuer: string;
}

/** A listener for a browser's return from the server. */
export interface CallbackListener {
  /** Resolves with the return. It is pending for as long as nobody comes. */
  readonly called: Promise<Callback>;
  /** Listens no more. */
  close(): Promise<void>;
}

/** The port is another program's. */
export class PortTaken extends Error {
  override name = "PortTaken";
}

/** One path, one method, and a head without a body; a browser's has some kilobytes. */
const MAX_HEAD = 16 * 1024;
const REQUEST_MS = 10_000;
const MAX_CONNECTIONS = 32;

/**
 * Waits on this machine for the return of a browser that was sent to the server. It takes one, with its own state, that
 * asks for a name of this machine: other pages and programs can knock, and get an error page.
 * @throws PortTaken, also when the port is taken on one of the two addresses, where the browser might go
 */
export async function listenForCallback(options: CallbackOptions): Promise<CallbackListener> {
  const { promise: called, resolve } = Promise.withResolvers<Callback>();
  let isUsed = false;
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const checked = checkRequest(request, options, isUsed);
    if ("title" in checked) return void send(response, checked);
    isUsed = true;
    resolve({ returned: checked, answer: (page) => send(response, page) });
  };
  const servers: Server[] = [];
  const close = async () => {
    await Promise.all(servers.map((server) => closeServer(server)));
  };
  try {
    for (const address of ["127.0.0.1", "::1"]) {
      const server = await listen(address, options.port, handle);
      if (server !== null) servers.push(server);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { called, close };
}

/** The listening server, or null where this machine has no such address. */
async function listen(
  address: string,
  port: number,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Server | null> {
  const server = createServer(
    { maxHeaderSize: MAX_HEAD, requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS },
    handle,
  );
  server.maxConnections = MAX_CONNECTIONS;
  return await new Promise((resolve, reject) => {
    server.once("error", (error) => {
      const code = "code" in error ? error.code : "";
      if (address === "::1" && (code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT")) return resolve(null);
      const isTaken = code === "EADDRINUSE" || code === "EACCES";
      reject(isTaken ? new PortTaken(`port ${port} of this machine is taken`, { cause: error }) : error);
    });
    server.listen({ host: address, port, ipv6Only: address === "::1" }, () => resolve(server));
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function send(response: ServerResponse, page: LoginPage): Promise<void> {
  return new Promise((resolve) => {
    // Also when the browser has gone meanwhile.
    response.once("close", () => resolve());
    response.writeHead(page.status, PAGE_HEADERS);
    response.end(renderResultPage(page));
    if (response.destroyed) resolve();
  });
}

/** What a request returns with, or the page of what is wrong with it. */
function checkRequest(
  { method, url = "", headers }: IncomingMessage,
  { port, state, issuer }: CallbackOptions,
  isUsed: boolean,
): Returned | LoginPage {
  const { host } = headers;
  if (host !== `localhost:${port}` && host !== `127.0.0.1:${port}`) {
    return refuse(403, "Not this name", "This address answers to localhost alone.");
  }
  const [path, ...query] = url.split("?");
  if (path !== "/") return refuse(404, "Nothing here", "There is no such page.");
  if (method !== "GET") return refuse(405, "Nothing here", "This page can only be opened.");
  const fields = new URLSearchParams(query.join("?"));
  if (!isSame(fields.get("state") ?? "", state)) {
    return refuse(400, "Not this login", "This page was not opened by the login that is under way. Start it again.");
  }
  const from = fields.get("iss");
  if (from !== null && from !== issuer) {
    return refuse(400, "Not this server", "Another server sent this browser here. Nothing was done.");
  }
  if (isUsed) return refuse(409, "Already used", "This login has been taken to its end. You can close this page.");
  return readReturned(fields);
}

function readReturned(query: URLSearchParams): Returned | LoginPage {
  const error = query.get("error");
  if (error !== null) return { error, description: query.get("error_description") };
  const code = query.get("code");
  return code ? { code } : refuse(400, "Not this login", "The server sent this browser here without a code.");
}

const refuse = (status: number, title: string, sentence: string): LoginPage => ({
  status,
  title,
  sentences: [sentence],
});

/** In a time that says nothing about where they differ. */
function isSame(given: string, wanted: string): boolean {
  const a = new TextEncoder().encode(given), b = new TextEncoder().encode(wanted);
  return a.length === b.length && timingSafeEqual(a, b);
}
