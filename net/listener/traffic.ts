import type { Connection } from "../connection/mod.ts";

/** What has passed a listener since it began, for whoever watches it. */
export class ListenerTraffic {
  /** Bytes of connections, inside TLS. */
  received = 0;
  sent = 0;
  readonly #answers = [0, 0, 0, 0, 0, 0];

  /** An answer begins; interim ones are none. */
  countResponse(status: number): void {
    const kind = Math.floor(status / 100);
    if (kind >= 1 && kind <= 5) this.#answers[kind]++;
  }

  /** How many answers began, by the first digit of their status: 101 is the only one of its kind. */
  answers(kind: 1 | 2 | 3 | 4 | 5): number {
    return this.#answers[kind];
  }

  /** A connection whose bytes count. */
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
