import type { View, Views } from "../../store/mod.ts";
import { type PreparedResponse, prepareResponse } from "./response.ts";

/** How long a view is believed to be as it was: another server may change it. */
const TRUSTED_MS = 2000;
const MAX_KNOWN = 10_000;

/** A view as far as calls to it need it. */
export interface KnownView {
  readonly id: string;
  readonly answer: PreparedResponse;
}

/** The views that are called now, so that the database is not asked for each call. */
export class KnownViews {
  readonly #views: Pick<Views, "find">;
  readonly #now: () => number;
  readonly #known = new Map<string, { view: KnownView; at: number }>();

  constructor(views: Pick<Views, "find">, now: () => number) {
    this.#views = views;
    this.#now = now;
  }

  /** The view if it was looked up a moment ago, or null. */
  recall(id: string): KnownView | null {
    const known = this.#known.get(id);
    return known !== undefined && this.#now() - known.at < TRUSTED_MS ? known.view : null;
  }

  /** The view as it is kept, or null when there is none. */
  async load(id: string): Promise<KnownView | null> {
    const view = await this.#views.find(id);
    this.#known.delete(id);
    if (view === null) return null;
    if (this.#known.size >= MAX_KNOWN) this.#dropOldest();
    const known = toKnown(view);
    this.#known.set(id, { view: known, at: this.#now() });
    return known;
  }

  /** It was changed or removed here. */
  forget(id: string): void {
    this.#known.delete(id);
  }

  #dropOldest(): void {
    const oldest = this.#known.keys().next().value;
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}

const toKnown = ({ id, answer }: View): KnownView => ({ id, answer: prepareResponse(answer) });
