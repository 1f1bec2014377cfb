import type { OriginReader } from "../../../net/forwarded.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import type { Ended } from "../../access/mod.ts";
import type { Store } from "../../store/mod.ts";
import type { Attempts } from "../attempts.ts";
import type { Audit } from "../audit.ts";
import type { Auth } from "../better_auth/auth.ts";
import type { Call } from "../better_auth/call.ts";
import type { Identity } from "../identify.ts";
import type { Mailer } from "../mail.ts";

/** What the parts of accounts have in common: who asks, better-auth, and whom to tell of a change. */
export interface Shared {
  store: Store;
  call: Call;
  loadAuth(): Promise<Auth>;
  identify(exchange: Exchange): Promise<Identity | null>;
  readOrigin: OriginReader;
  attempts: Attempts;
  audit: Audit;
  /** Null where no mail can be sent. */
  mailer: Mailer | null;
  /** Of HQ. */
  origin: string;
  /** Unix milliseconds. */
  now(): number;
  /** What somebody may do has changed. */
  onChange(): void;
  /** A login, or all that a user has for one account or for every, has ended. */
  onEnded(ended: Ended): void;
}
