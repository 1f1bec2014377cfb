import type { View, Views } from "../../store/mod.ts";
import { type PreparedResponse, prepareResponse } from "./response.ts";

/** How long a cached view is valid. Another server may change it. */
const TRUSTED_MS = 2000;
const MAX_KNOWN = 10_000;

/** A view, reduced to the parts that calls need. */
export interface KnownView {
  readonly id: string;
  readonly response: PreparedResponse;
}

/** Caches recently called views, so that calls rarely query the database. */
export class KnownViews {
  readonly #views: Pick<Views, "find">;
  readonly #now: () => number;
  readonly #known = new Map<string, { view: KnownView; at: number }>();

  constructor(views: Pick<Views, "find">, now: () => number) {
    this.#views = views;
    this.#now = now;
  }

  /** Returns a cached view, or null. */
  recall(id: string): KnownView | null {
    const known = this.#known.get(id);
    return known !== undefined && this.#now() - known.at < TRUSTED_MS ? known.view : null;
  }

  /** Loads a view from the store; null for a missing one. */
  async load(id: string): Promise<KnownView | null> {
    const view = await this.#views.find(id);
    this.#known.delete(id);
    if (view === null) return null;
    if (this.#known.size >= MAX_KNOWN) this.#dropOldest();
    const known = toKnown(view);
    this.#known.set(id, { view: known, at: this.#now() });
    return known;
  }

  /** Drops a view that this server changed or deleted. */
  forget(id: string): void {
    this.#known.delete(id);
  }

  #dropOldest(): void {
    const oldest = this.#known.keys().next().value;
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}

const toKnown = ({ id, answer }: View): KnownView => ({ id, response: prepareResponse(answer) });
