/** Whether this is Deno. */
export const IS_DENO: boolean = typeof Deno === "object";

/** A file whose bytes go to the socket without passing through script. It starts where `path` starts and closes itself. */
export function streamWholeFile(path: string): ReadableStream<Uint8Array<ArrayBuffer>> {
  return Deno.openSync(path, { read: true }).readable;
}
