import { Buffer } from "node:buffer";
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { CHECKSUMS, SIGNATURE } from "./release_files.ts";

/** A minisign key pair. */
export interface SigningKey {
  /** The base64 line of the public key. */
  readonly publicKey: string;
  readonly privateKey: KeyObject;
  readonly id: Buffer;
}

/** Creates a key pair, as `minisign -G` does. */
export function createSigningKey(): SigningKey {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519"), id = randomBytes(8);
  const bytes = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
  return { publicKey: Buffer.concat([Buffer.from("Ed"), id, bytes]).toString("base64"), privateKey, id };
}

/** Signs a file, as `minisign -S` does. */
function signFile(file: Uint8Array, { privateKey, id }: SigningKey, comment: string): string {
  const signature = sign(null, createHash("blake2b512").update(file).digest(), privateKey);
  const global = sign(null, Buffer.concat([signature, Buffer.from(comment)]), privateKey);
  const first = Buffer.concat([Buffer.from("ED"), id, signature]).toString("base64");
  return `untrusted comment: a test\n${first}\ntrusted comment: ${comment}\n${global.toString("base64")}\n`;
}

/** Returns the files of a release with checksums and their signature. */
export function createRelease(programs: Record<string, string>, key: SigningKey): Map<string, string> {
  const sums = Object.entries(programs).map(([name, text]) => {
    return `${createHash("sha256").update(text).digest("hex")}  ${name}\n`;
  }).join("");
  const signature = signFile(Buffer.from(sums), key, "a release");
  return new Map([...Object.entries(programs), [CHECKSUMS, sums], [SIGNATURE, signature]]);
}

/** A server with releases on this machine. */
export interface ReleaseServer extends AsyncDisposable {
  readonly releases: string;
  /** The files of the newest release; tests change them. */
  readonly files: Map<string, string>;
  /** Handles a file in another way. */
  handle: ((name: string, response: ServerResponse) => boolean) | null;
}

/** Starts a server whose downloads are redirected once, as release servers do. */
export async function startReleaseServer(files: Map<string, string>): Promise<ReleaseServer> {
  const server = createServer((request, response) => {
    const [, folder, name] = /^\/(releases\/latest\/download|files)\/([^/]+)$/.exec(request.url ?? "") ?? [];
    if (folder === "files" && started.handle?.(name, response)) return;
    const text = files.get(name ?? "");
    if (text === undefined) response.writeHead(404).end();
    else if (folder === "files") response.end(text);
    else response.writeHead(302, { location: `/files/${name}` }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const started: ReleaseServer = {
    releases: `http://127.0.0.1:${(server.address() as AddressInfo).port}/releases`,
    files,
    handle: null,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return started;
}
