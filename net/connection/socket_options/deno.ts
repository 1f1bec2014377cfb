/** Socket options that Deno cannot set. */

/** The C library's name on most systems, and on musl. */
const C_LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];
const FUNCTIONS = {
  setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
  getsockname: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  getpeername: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;
type CLibrary = Deno.DynamicLibrary<typeof FUNCTIONS>["symbols"];

/** From netinet/in.h and netinet/tcp.h on Linux. */
const IPPROTO_TCP = 6;
const TCP_NODELAY = 1;
const TCP_NOTSENT_LOWAT = 25;
/** From bits/socket.h. */
const AF_INET = 2;
const AF_INET6 = 10;
/** Size of a sockaddr_storage, in bytes. */
const ADDRESS_SIZE = 128;

/**
 * Limit for unsent bytes per connection in the system, beyond those in flight; without it the buffer grows to
 * megabytes. Then 2,000 stalled readers hold half a gigabyte, more than a small machine has for all connections, and
 * other visitors wait a fifth of a second per response. On a session, small responses wait behind these bytes: at 20
 * Mbit/s 0.24 s beside a large one, and 0.13 s with the limit.
 */
const UNSENT = 128 * 1024;

/**
 * Sets options that Deno cannot set on accepted connections: TCP_NODELAY for TLS, without which the second small write
 * waits 40 ms for an acknowledgement, and {@link UNSENT}.
 * @returns whether TCP_NODELAY is set
 */
export function tuneForAccepted(port: number): boolean {
  setForAccepted(port, IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT);
  return setForAccepted(port, IPPROTO_TCP, TCP_NODELAY, 1);
}

/** Limits unsent bytes to {@link UNSENT} on connections between two ports. */
export function limitUnsentBetween(localPort: number, remotePort: number): void {
  setOption({ localPort, remotePort }, { level: IPPROTO_TCP, option: TCP_NOTSENT_LOWAT, value: UNSENT });
}

/**
 * Sets an option on the sockets that listen on a port; accepted sockets inherit it (setsockopt(2)).
 * @returns whether it is set, which works only on Linux
 */
export function setForAccepted(
  port: number,
  level: number,
  option: number,
  value: number,
  os: string = Deno.build.os,
): boolean {
  return setOption({ localPort: port, remotePort: null }, { level, option, value }, os);
}

interface Ports {
  localPort: number;
  /** Null for a listening socket. */
  remotePort: number | null;
}

interface SocketOption {
  level: number;
  option: number;
  value: number;
}

/** Sets it on all sockets with these ports in this process. @returns whether at least one accepted it */
function setOption(ports: Ports, { level, option, value }: SocketOption, os: string = Deno.build.os): boolean {
  if (os !== "linux" || Deno.permissions.querySync({ name: "ffi" }).state !== "granted") return false;
  const library = openLibrary();
  if (library === null) return false;
  try {
    const memory = new Int32Array([value]);
    const set = (fd: number) => library.symbols.setsockopt(fd, level, option, memory, memory.byteLength) === 0;
    return findSockets(library.symbols, ports).map(set).includes(true);
  } catch {
    // Without /proc, or without permission to read it.
    return false;
  } finally {
    library.close();
  }
}

function openLibrary(): Deno.DynamicLibrary<typeof FUNCTIONS> | null {
  for (const name of C_LIBRARIES) {
    try {
      return Deno.dlopen(name, FUNCTIONS);
    } catch {
      // The library has another name here.
    }
  }
  return null;
}

/** Returns this process's descriptors for the sockets with these ports. */
function findSockets(library: CLibrary, { localPort, remotePort }: Ports): number[] {
  return [...Deno.readDirSync("/proc/self/fd")].map(({ name }) => Number(name))
    .filter((fd) => readPort(library.getsockname, fd) === localPort)
    .filter((fd) => readPort(library.getpeername, fd) === remotePort);
}

/** Returns the address of a socket's end; null without one. */
function readPort(read: CLibrary["getsockname"], fd: number): number | null {
  const address = new DataView(new ArrayBuffer(ADDRESS_SIZE));
  const size = new Uint32Array([ADDRESS_SIZE]);
  if (read(fd, address.buffer, size.buffer) !== 0) return null;
  const family = new Uint16Array(address.buffer)[0];
  return family === AF_INET || family === AF_INET6 ? address.getUint16(2) : null;
}
