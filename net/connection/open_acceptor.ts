import process from "node:process";
import type { AcceptOptions, Acceptor } from "./types.ts";

/**
 * Listens with the runtime's own driver.
 * @throws whatever the system says when the address cannot be had
 */
export async function openAcceptor(options: AcceptOptions): Promise<Acceptor> {
  if (process.versions.deno === undefined) return await (await import("./node.ts")).openNodeAcceptor(options);
  return await (await import("./deno.ts")).openDenoAcceptor(options);
}
