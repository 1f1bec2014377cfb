import type { TokenSource } from "../api/mod.ts";

/** A tunnel that sessions carry, and what proves the right to it. */
export interface CarriedTunnel {
  readonly id: string;
  /** The secret of an ephemeral tunnel, or where a user's token comes from: it ends sooner than a persistent tunnel. */
  readonly secret: string | TokenSource;
  /** Unix milliseconds, by this machine's clock; null for a tunnel that lasts. */
  readonly expiresAt: number | null;
}
