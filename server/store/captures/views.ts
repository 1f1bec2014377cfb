import type { Kysely, Selectable } from "kysely";
import { TooManyViews } from "../errors.ts";
import type { Database } from "../schema/mod.ts";

/** A view's configured response. */
export interface ViewResponse {
  status: number;
  /** Names and values, one character per byte. */
  headers: readonly (readonly [string, string])[];
  /** Text, sent as UTF-8. With status 200, no headers and an empty body, the server sends its own short JSON. */
  body: string;
  /** Milliseconds before the response. */
  delayMs: number;
  /** Whether pages from other origins may read the response. */
  cors: boolean;
  /** Whether placeholders such as `{{query.challenge}}` in headers and body are replaced by values from the call. */
  template: boolean;
  /** The provider whose verification challenge gets its own response, or null. */
  challenge: string | null;
  /** The provider's secret, or null. */
  challengeSecret: string | null;
}

/** A stored request view. Times are Unix milliseconds. */
export interface View {
  /** The id, which is also the secret for sending calls. */
  id: string;
  accountId: string;
  /** Counts up within the account. */
  number: number;
  name: string;
  createdAt: number;
  answer: ViewResponse;
  retentionDays: number;
  maxCaptures: number;
  /** Current captures. */
  captures: number;
  bytes: number;
  /** The newest cursor ever; 0 before the first capture. */
  lastCursor: number;
  lastCaptureAt: number | null;
}

/** A view to create. A view without a name gets the first free one in the series `Unnamed view #1`. */
export type NewView =
  & Pick<View, "id" | "accountId" | "createdAt" | "answer" | "retentionDays" | "maxCaptures">
  & { name: string | null };

/** The changeable parts of a view. */
export type ViewChanges = Partial<Pick<View, "name" | "answer" | "retentionDays" | "maxCaptures">>;

/** Request views, without their captures. */
export interface Views {
  /**
   * Creates a view with the account's next number.
   * @param limit views per account
   * @throws TooManyViews
   */
  insert(view: NewView, limit: number): Promise<View>;
  /** Lists an account's views, oldest first. */
  list(accountId: string): Promise<View[]>;
  find(id: string): Promise<View | null>;
  /** Changes a view. Returns the new state, or null for a missing view. */
  change(id: string, changes: ViewChanges): Promise<View | null>;
  /** Deletes a view. Returns whether it existed. `Captures.sweep` removes its captures later. */
  remove(id: string): Promise<boolean>;
}

/** Creates request views for either database. */
export function createViews(db: Kysely<Database>): Views {
  const find = async (id: string) =>
    fromRow(await db.selectFrom("views").selectAll().where("id", "=", id).executeTakeFirst());
  return {
    insert: (view, limit) => insertView(db, view, limit),
    async list(accountId) {
      const rows = await db.selectFrom("views").selectAll().where("account_id", "=", accountId).orderBy("number")
        .execute();
      return rows.map((row) => fromRow(row));
    },
    find,
    async change(id, changes) {
      const columns = toColumns(changes);
      if (Object.keys(columns).length > 0) await db.updateTable("views").set(columns).where("id", "=", id).execute();
      return await find(id);
    },
    async remove(id) {
      return await db.transaction().execute(async (transaction) => {
        const { numDeletedRows } = await transaction.deleteFrom("views").where("id", "=", id).executeTakeFirst();
        if (numDeletedRows === 0n) return false;
        await transaction.insertInto("removed_views").values({ id }).execute();
        return true;
      });
    },
  };
}

async function insertView(db: Kysely<Database>, view: NewView, limit: number): Promise<View> {
  return await db.transaction().execute(async (transaction) => {
    // This locks the row with the account's number, so that simultaneous inserts take turns.
    const { last } = await transaction.insertInto("view_numbers").values({ account_id: view.accountId, last: 1 })
      .onConflict((conflict) =>
        conflict.column("account_id").doUpdateSet((row) => ({ last: row("view_numbers.last", "+", 1) }))
      )
      .returning("last").executeTakeFirstOrThrow();
    const names = (await transaction.selectFrom("views").select("name").where("account_id", "=", view.accountId)
      .execute()).map(({ name }) => name);
    if (names.length >= limit) throw new TooManyViews(`an account may have ${limit} views`);
    const row = await transaction.insertInto("views").values({
      id: view.id,
      account_id: view.accountId,
      number: Number(last),
      name: view.name ?? nameUnnamed(names),
      created_at: view.createdAt,
      ...answerColumns(view.answer),
      retention_days: view.retentionDays,
      max_captures: view.maxCaptures,
      oldest_at: null,
      last_capture_at: null,
    }).returningAll().executeTakeFirstOrThrow();
    return fromRow(row);
  });
}

/** Returns the first unused name in the series. */
function nameUnnamed(names: readonly string[]): string {
  const used = new Set(names);
  for (let number = 1;; number++) if (!used.has(`Unnamed view #${number}`)) return `Unnamed view #${number}`;
}

type Row = Selectable<Database["views"]>;

function toColumns({ name, answer, retentionDays, maxCaptures }: ViewChanges): Partial<Row> {
  return {
    ...(name !== undefined && { name }),
    ...(answer !== undefined && answerColumns(answer)),
    ...(retentionDays !== undefined && { retention_days: retentionDays }),
    ...(maxCaptures !== undefined && { max_captures: maxCaptures }),
  };
}

function answerColumns(response: ViewResponse) {
  const { status, headers, body, delayMs, cors, template, challenge, challengeSecret } = response;
  return {
    answer_status: status,
    answer_headers: JSON.stringify(headers),
    answer_body: body,
    answer_delay_ms: delayMs,
    answer_cors: cors ? 1 : 0,
    answer_template: template ? 1 : 0,
    answer_challenge: challenge,
    answer_secret: challengeSecret,
  };
}

function fromRow(row: Row): View;
function fromRow(row: Row | undefined): View | null;
function fromRow(row: Row | undefined): View | null {
  if (row === undefined) return null;
  return {
    id: row.id,
    accountId: row.account_id,
    number: Number(row.number),
    name: row.name,
    createdAt: Number(row.created_at),
    answer: {
      status: Number(row.answer_status),
      headers: JSON.parse(row.answer_headers) as [string, string][],
      body: row.answer_body,
      delayMs: Number(row.answer_delay_ms),
      cors: Number(row.answer_cors) === 1,
      template: Number(row.answer_template) === 1,
      challenge: row.answer_challenge,
      challengeSecret: row.answer_secret,
    },
    retentionDays: Number(row.retention_days),
    maxCaptures: Number(row.max_captures),
    captures: Number(row.captures),
    bytes: Number(row.bytes),
    lastCursor: Number(row.last_cursor),
    lastCaptureAt: row.last_capture_at === null ? null : Number(row.last_capture_at),
  };
}
