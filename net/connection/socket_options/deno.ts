/** What Deno has no way to ask for, of sockets that it opened. */

/** The C library, by the name that it has on most systems, and where it is musl's. */
const C_LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];
const FUNCTIONS = {
  setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
  getsockname: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  getpeername: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;
type CLibrary = Deno.DynamicLibrary<typeof FUNCTIONS>["symbols"];

/** From netinet/in.h and netinet/tcp.h of Linux. */
const IPPROTO_TCP = 6;
const TCP_NODELAY = 1;
const TCP_NOTSENT_LOWAT = 25;
/** From bits/socket.h. */
const AF_INET = 2;
const AF_INET6 = 10;
/** Of a sockaddr_storage, in bytes. */
const ADDRESS_SIZE = 128;

/**
 * The most that the system keeps for a peer beyond what is on its way to them, in bytes; without a bound it grows to
 * megabytes. 2,000 who do not read their answers then hold half a gigabyte of it, more than the system of a small
 * machine has for all its connections, and those who do read wait a fifth of a second for each answer. On a session it
 * is what a small answer waits behind: over 20 Mbit/s 0.24 s beside a large one, and with this 0.13 s.
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

/** Has the system keep no more than {@link UNSENT}, on the connections between two ports. */
export function limitUnsentBetween(localPort: number, remotePort: number): void {
  setOption({ localPort, remotePort }, { level: IPPROTO_TCP, option: TCP_NOTSENT_LOWAT, value: UNSENT });
}

/**
 * Sets an option of the sockets that listen on a port, from which those that they accept have it (setsockopt(2)).
 * @returns whether it is set; on Linux alone it can be, whose numbers and libraries these are
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
  /** Null of a socket that listens. */
  remotePort: number | null;
}

interface SocketOption {
  level: number;
  option: number;
  value: number;
}

/** Sets it on all sockets of this process that have these ports. @returns whether there was one that takes it */
function setOption(ports: Ports, { level, option, value }: SocketOption, os: string = Deno.build.os): boolean {
  if (os !== "linux" || Deno.permissions.querySync({ name: "ffi" }).state !== "granted") return false;
  const library = openLibrary();
  if (library === null) return false;
  try {
    const memory = new Int32Array([value]);
    const set = (fd: number) => library.symbols.setsockopt(fd, level, option, memory, memory.byteLength) === 0;
    return findSockets(library.symbols, ports).map(set).includes(true);
  } catch {
    // Without /proc, or the right to read it.
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
      // It has another name here.
    }
  }
  return null;
}

/** This process's descriptors of the sockets with these ports. */
function findSockets(library: CLibrary, { localPort, remotePort }: Ports): number[] {
  return [...Deno.readDirSync("/proc/self/fd")].map(({ name }) => Number(name))
    .filter((fd) => readPort(library.getsockname, fd) === localPort)
    .filter((fd) => readPort(library.getpeername, fd) === remotePort);
}

/** Of one end of a socket; null where it has none. */
function readPort(read: CLibrary["getsockname"], fd: number): number | null {
  const address = new DataView(new ArrayBuffer(ADDRESS_SIZE));
  const size = new Uint32Array([ADDRESS_SIZE]);
  if (read(fd, address.buffer, size.buffer) !== 0) return null;
  const family = new Uint16Array(address.buffer)[0];
  return family === AF_INET || family === AF_INET6 ? address.getUint16(2) : null;
}
