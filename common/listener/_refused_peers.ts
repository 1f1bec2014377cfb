const MAX_PEERS = 10_000;
const KEPT_MS = 60_000;

/** The other end of a connection. */
export interface Peer {
  readonly hostname: string;
  readonly port: number;
}

/**
 * Connections on which a head was refused, known by the address and port of their peer. What follows there is no
 * request, but Deno ends no connection whatever an answer says. An entry is kept for a minute: by then a visitor who
 * was told to close has gone, and the port may be another's.
 */
export class RefusedPeers {
  readonly #untils = new Map<string, number>();

  /** Whether any is known, which spares busy listeners the look-up. */
  get any(): boolean {
    return this.#untils.size > 0;
  }

  /** Above 10,000 the oldest is forgotten. */
  add({ hostname, port }: Peer, now: number): void {
    this.#forgetOld(now);
    const oldest = this.#untils.size >= MAX_PEERS ? this.#untils.keys().next().value : undefined;
    if (oldest !== undefined) this.#untils.delete(oldest);
    this.#untils.set(`${hostname} ${port}`, now + KEPT_MS);
  }

  has({ hostname, port }: Peer, now: number): boolean {
    this.#forgetOld(now);
    return this.#untils.has(`${hostname} ${port}`);
  }

  #forgetOld(now: number): void {
    for (const [peer, until] of this.#untils) {
      if (until > now) return;
      this.#untils.delete(peer);
    }
  }
}
