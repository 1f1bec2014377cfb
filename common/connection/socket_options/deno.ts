/** What Deno has no way to ask for, of connections that are accepted. */

/** The C library, by the name that it has on most systems, and where it is musl's. */
const C_LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];
/** From netinet/in.h and netinet/tcp.h of Linux. */
const IPPROTO_TCP = 6;
const TCP_NODELAY = 1;
const TCP_NOTSENT_LOWAT = 25;

/**
 * The most that the system keeps for a peer beyond what is on its way to them, in bytes; without a bound it grows to
 * megabytes. 2,000 who do not read their answers then hold half a gigabyte of it, more than the system of a small
 * machine has for all its connections, and those who do read wait a fifth of a second for each answer.
 */
const UNSENT = 128 * 1024;

/**
 * What Deno has no way to ask for, of those that are accepted on a port: TCP_NODELAY in TLS, without which the second of
 * two small writes waits 40 ms for the peer's acknowledgement, and {@link UNSENT}.
 * @returns whether TCP_NODELAY is set
 */
export function tuneForAccepted(port: number): boolean {
  setForAccepted(port, IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT);
  return setForAccepted(port, IPPROTO_TCP, TCP_NODELAY, 1);
}

/**
 * Sets an option of the socket that listens on a port, from which those that it accepts have it (setsockopt(2)).
 * @returns whether it is set; on Linux alone it can be, whose numbers and libraries these are
 */
export function setForAccepted(
  port: number,
  level: number,
  option: number,
  value: number,
  os: string = Deno.build.os,
): boolean {
  if (os !== "linux" || Deno.permissions.querySync({ name: "ffi" }).state !== "granted") return false;
  try {
    const fd = findListeningSocket(port);
    return fd !== null && C_LIBRARIES.some((name) => setSocketOption(name, fd, level, option, value));
  } catch {
    // Without /proc, or the right to read it.
    return false;
  }
}

function setSocketOption(library: string, fd: number, level: number, option: number, value: number): boolean {
  try {
    const opened = Deno.dlopen(library, {
      setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
    });
    const memory = new Int32Array([value]);
    const result = opened.symbols.setsockopt(fd, level, option, memory, memory.byteLength);
    opened.close();
    return result === 0;
  } catch {
    return false;
  }
}

/** This process's descriptor of the socket that listens on a port, or null. */
function findListeningSocket(port: number): number | null {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = ["tcp", "tcp6"].flatMap((table) => readText(`/proc/self/net/${table}`).split("\n"));
  // Columns: number, local and remote address, state, queues, timer, retransmits, user, timeout, inode. 0A is LISTEN.
  const sockets = rows.map((row) => row.trim().split(/\s+/))
    .filter((row) => row[1]?.endsWith(suffix) && row[3] === "0A")
    .map((row) => `socket:[${row[9]}]`);
  for (const { name } of Deno.readDirSync("/proc/self/fd")) {
    if (sockets.includes(readLink(`/proc/self/fd/${name}`))) return Number(name);
  }
  return null;
}

/** A system may lack one of them. */
function readText(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}

/** The listing has the descriptor that made the listing, which is closed by now. */
function readLink(path: string): string {
  try {
    return Deno.readLinkSync(path);
  } catch {
    return "";
  }
}
