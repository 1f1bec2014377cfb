import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { FetchTarget } from "../../common/fetch_target.ts";
import { createFileShare, type FileShareOptions } from "./share.ts";

/** A share of a fresh folder, asked without a socket. */
export interface TestShare extends AsyncDisposable {
  /** Real path of the shared folder. */
  readonly path: string;
  /** Real path of a folder beside it, which nobody may reach. */
  readonly outside: string;
  readonly target: FetchTarget;
  /** Sends a request with a target byte for byte. */
  ask(target: string, init?: AskOptions): Promise<Response>;
  write(name: string, content: string | Uint8Array): void;
  read(name: string): string;
}

/** A request to the share under test; `address` is the visitor's, 127.0.0.1 when left out. */
export interface AskOptions extends RequestInit {
  address?: string;
}

/** Opens a share of a fresh temporary folder, which is removed at the end. */
export function openTestShare(options: Partial<FileShareOptions> = {}): TestShare {
  const base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "portway-share-")));
  const [shared, outside] = [path.join(base, "shared"), path.join(base, "outside")];
  fs.mkdirSync(shared);
  fs.mkdirSync(outside);
  fs.writeFileSync(path.join(outside, "secret.txt"), "secret");
  const target = createFileShare({ path: shared, ...options });
  return {
    path: shared,
    outside,
    target,
    ask: (rawTarget, init = {}) => ask(target, rawTarget, init),
    write(name, content) {
      fs.mkdirSync(path.dirname(path.join(shared, name)), { recursive: true });
      fs.writeFileSync(path.join(shared, name), content);
    },
    read: (name) => fs.readFileSync(path.join(shared, name), "utf8"),
    async [Symbol.asyncDispose]() {
      await target.close();
      fs.rmSync(base, { recursive: true });
    },
  };
}

function ask(
  target: FetchTarget,
  rawTarget: string,
  { address = "192.0.2.1", ...init }: AskOptions,
): Promise<Response> {
  const headers = new Headers(init.headers);
  // What a listener tells of a body of known length.
  if (typeof init.body === "string" && !headers.has("content-length")) {
    headers.set("content-length", String(new TextEncoder().encode(init.body).length));
  }
  headers.set("host", "share.test");
  const request = new Request("http://share.test/", { ...init, headers });
  return target.fetch(request, { path: rawTarget, remoteAddress: address });
}

/** Names in a folder of a share, with slashes behind folders. */
export async function listNames(share: TestShare, target = "/"): Promise<string[]> {
  return (await (await share.ask(target)).text()).split("\n").filter((name) => name !== "");
}
