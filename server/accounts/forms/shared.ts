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

/** The parts that all forms share: authentication, better-auth, and notifications about changes. */
export interface Shared {
  store: Store;
  call: Call;
  loadAuth(): Promise<Auth>;
  identify(exchange: Exchange): Promise<Identity | null>;
  readOrigin: OriginReader;
  attempts: Attempts;
  audit: Audit;
  /** Null where mail is not configured. */
  mailer: Mailer | null;
  /** HQ's origin. */
  origin: string;
  /** Unix milliseconds. */
  now(): number;
  /** Called after any permission changed. */
  onChange(): void;
  /** Called after a permission ended. */
  onEnded(ended: Ended): void;
}
