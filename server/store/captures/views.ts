import type { Kysely, Selectable } from "kysely";
import { TooManyViews } from "../errors.ts";
import type { Database } from "../schema/mod.ts";

/** What a view's capture URL answers. */
export interface ViewResponse {
  status: number;
  /** Names and values, one character a byte. */
  headers: readonly (readonly [string, string])[];
  /** Text, sent as UTF-8. Empty, with status 200 and no headers: the server's own short JSON. */
  body: string;
  /** Milliseconds before the answer. */
  delayMs: number;
  /** Whether pages of other origins may read the answer. */
  cors: boolean;
  /** Whether placeholders such as `{{query.challenge}}` in headers and body stand for values of the request. */
  template: boolean;
  /** The provider whose verification challenge gets its own response, or null. */
  challenge: string | null;
  /** The secret of that provider, or null. */
  challengeSecret: string | null;
}

/** A request view as it is kept. Times are Unix milliseconds. */
export interface View {
  /** Also the secret that lets one send to it. */
  id: string;
  accountId: string;
  /** Counts up within its account. */
  number: number;
  name: string;
  createdAt: number;
  answer: ViewResponse;
  retentionDays: number;
  maxCaptures: number;
  /** What it has now. */
  captures: number;
  bytes: number;
  /** Cursor of its newest capture ever; 0 before the first. */
  lastCursor: number;
  lastCaptureAt: number | null;
}

/** A view that is to be made. A view without a name gets the first free one in the series `Unnamed view #1`. */
export type NewView =
  & Pick<View, "id" | "accountId" | "createdAt" | "answer" | "retentionDays" | "maxCaptures">
  & { name: string | null };

/** What of a view can be changed. */
export type ViewChanges = Partial<Pick<View, "name" | "answer" | "retentionDays" | "maxCaptures">>;

/** Request views, without what they captured. */
export interface Views {
  /**
   * Makes a view and gives it the next number of its account.
   * @param limit views that an account may have
   * @throws TooManyViews
   */
  insert(view: NewView, limit: number): Promise<View>;
  /** All of an account, oldest first. */
  list(accountId: string): Promise<View[]>;
  find(id: string): Promise<View | null>;
  /** The view as it is then, or null for one that is gone. */
  change(id: string, changes: ViewChanges): Promise<View | null>;
  /** Says whether it was there. What it captured is nobody's from now on, and removed by `Captures.sweep`. */
  remove(id: string): Promise<boolean>;
}

/** Request views in any database that Kysely speaks to. */
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
    // The row of the account's number is locked from here on: two who make views at once take turns.
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

/** The first name in the series that the account does not use. */
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
