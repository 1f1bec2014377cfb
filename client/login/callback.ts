import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type LoginPage, PAGE_HEADERS, renderResultPage } from "./page.ts";

/** The result in the redirect from the authorization server. */
export type Returned =
  | { code: string; error?: undefined }
  | { code?: undefined; /** An OAuth error code such as `access_denied`. */ error: string; description: string | null };

/** The redirect that completes the login. */
export interface Callback {
  readonly returned: Returned;
  /** Sends the final page to the browser and resolves once it is sent. Call it once. */
  respond(page: LoginPage): Promise<void>;
}

/** The redirect target, and the values that prove that a redirect belongs to this login. */
export interface CallbackOptions {
  /** The port, bound on both 127.0.0.1 and ::1. */
  port: number;
  /** The random OAuth `state` of this login. */
  state: string;
  /** The expected `iss` value, checked if the server sends one (RFC 9207). */
  issuer: string;
}

/** A local HTTP listener for the login redirect. */
export interface CallbackListener {
  /** Resolves with the first valid redirect, and stays pending until then. */
  readonly called: Promise<Callback>;
  /** Closes the listener and its connections. */
  close(): Promise<void>;
}

/** Another program uses the port. */
export class PortTaken extends Error {
  override name = "PortTaken";
}

/** Limits the request head in bytes. Browsers send a few kilobytes. */
const MAX_HEAD = 16 * 1024;
const REQUEST_MS = 10_000;
const MAX_CONNECTIONS = 32;

/**
 * Listens on the loopback addresses for the redirect of one login. Other pages and programs can reach the port too: a
 * request with another host name or `state` gets an error page.
 * @throws PortTaken if either address is in use, because the browser may connect to either
 */
export async function listenForCallback(options: CallbackOptions): Promise<CallbackListener> {
  const { promise: called, resolve } = Promise.withResolvers<Callback>();
  let isUsed = false;
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const checked = checkRequest(request, options, isUsed);
    if ("title" in checked) return void send(response, checked);
    isUsed = true;
    resolve({ returned: checked, respond: (page) => send(response, page) });
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

/** Starts a server on one address. Returns null if the machine does not support the address family. */
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
      reject(isTaken ? new PortTaken(`port ${port} is already in use`, { cause: error }) : error);
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
    // Resolves even if the browser disconnected first.
    response.once("close", () => resolve());
    response.writeHead(page.status, PAGE_HEADERS);
    response.end(renderResultPage(page));
    if (response.destroyed) resolve();
  });
}

/** Returns the redirect's result, or an error page for an invalid request. */
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

/** Compares in constant time, so that timing reveals no prefix of the secret. */
function isSame(given: string, wanted: string): boolean {
  const a = new TextEncoder().encode(given), b = new TextEncoder().encode(wanted);
  return a.length === b.length && timingSafeEqual(a, b);
}
