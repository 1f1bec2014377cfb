import zlib from "node:zlib";

/** Whether this runtime knows the coding zstd: Node does from 22.15. */
export const HAS_ZSTD: boolean = typeof zlib.createZstdCompress === "function";
