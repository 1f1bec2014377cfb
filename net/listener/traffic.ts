import type { Connection } from "../connection/mod.ts";

/** Counts a listener's traffic. */
export class ListenerTraffic {
  /** Bytes on connections, inside TLS. */
  received = 0;
  sent = 0;
  readonly #answers = [0, 0, 0, 0, 0, 0];

  /** Counts a response at its start, without interim ones. */
  countResponse(status: number): void {
    const kind = Math.floor(status / 100);
    if (kind >= 1 && kind <= 5) this.#answers[kind]++;
  }

  /** Responses by the status's first digit; 101 is the only 1xx. */
  answers(kind: 1 | 2 | 3 | 4 | 5): number {
    return this.#answers[kind];
  }

  /** A connection with counted bytes. */
  watch(connection: Connection): Connection {
    return {
      read: (into) =>
        connection.read(into).then((count) => {
          if (count !== null) this.received += count;
          return count;
        }),
      write: (bytes) => {
        this.sent += bytes.length;
        return connection.write(bytes);
      },
      closeWrite: () => connection.closeWrite(),
      keepAlive: connection.keepAlive && (() => connection.keepAlive?.()),
      close: () => connection.close(),
    };
  }
}
