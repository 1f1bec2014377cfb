import type { Kysely, Selectable } from "kysely";
import { LabelTaken, NameTaken, TooManyTunnels } from "../errors.ts";
import type { Database } from "../schema/mod.ts";
import { takeTurns } from "../take_turns.ts";

/** Local ports that a tunnel may expose: all, or an ascending list. */
export type AllowedPorts = "all" | readonly number[];

/** A stored persistent tunnel. Times are Unix milliseconds. */
export interface PersistentTunnel {
  readonly id: string;
  /** The account whose members may use it. */
  readonly accountId: string;
  /** The user whose allowance pays for its traffic: the one who ran its last session, or else its creator. */
  readonly userId: string;
  /** Unique within the account. */
  readonly name: string;
  /** The host label under the tunnels' domain. */
  readonly label: string;
  readonly defaultPort: number;
  readonly allowedPorts: AllowedPorts;
  /** Whether its owner enabled it. */
  readonly enabled: boolean;
  /** Whether the server's operator suspended it. */
  readonly suspended: boolean;
  readonly createdAt: number;
}

/** The changeable parts of a persistent tunnel. */
export type PersistentTunnelChange = Partial<
  Pick<PersistentTunnel, "userId" | "defaultPort" | "allowedPorts" | "enabled" | "suspended">
>;

/** A page of tunnels with the total number. */
export interface TunnelPage {
  tunnels: PersistentTunnel[];
  total: number;
}

/** Persistent tunnels. */
export interface PersistentTunnels {
  /**
   * Stores a new tunnel.
   * @param maxPerAccount tunnels per account
   * @throws LabelTaken, NameTaken, TooManyTunnels
   */
  insert(tunnel: PersistentTunnel, maxPerAccount: number): Promise<void>;
  findById(id: string): Promise<PersistentTunnel | null>;
  findByLabel(label: string): Promise<PersistentTunnel | null>;
  /** Finds tunnels by id, without missing ones. */
  findByIds(ids: readonly string[]): Promise<PersistentTunnel[]>;
  /** Lists an account's tunnels by name. */
  list(accountId: string): Promise<PersistentTunnel[]>;
  /** Lists tunnels in all accounts whose name or label contains `search`, newest first. */
  listAll(search: string, offset: number, limit: number): Promise<TunnelPage>;
  /** Changes a tunnel. Returns the new state, or null for a missing one. */
  update(id: string, change: PersistentTunnelChange): Promise<PersistentTunnel | null>;
  /** Removes a tunnel with its daily usage. Returns whether it existed. */
  remove(id: string): Promise<boolean>;
}

/** Ids per query: databases limit the number of parameters. */
const IDS_AT_ONCE = 500;

/** Creates persistent tunnels for either database. */
export function createPersistentTunnels(db: Kysely<Database>): PersistentTunnels {
  const find = async (column: "id" | "label", value: string) => {
    const row = await db.selectFrom("tunnels").selectAll().where(column, "=", value).executeTakeFirst();
    return row === undefined ? null : fromRow(row);
  };
  return {
    insert: (tunnel, maxPerAccount) => insert(db, tunnel, maxPerAccount),
    findById: (id) => find("id", id),
    findByLabel: (label) => find("label", label),
    async findByIds(ids) {
      const found: PersistentTunnel[] = [];
      for (let at = 0; at < ids.length; at += IDS_AT_ONCE) {
        const some = ids.slice(at, at + IDS_AT_ONCE);
        found.push(...(await db.selectFrom("tunnels").selectAll().where("id", "in", some).execute()).map(fromRow));
      }
      return found;
    },
    async list(accountId) {
      const rows = db.selectFrom("tunnels").selectAll().where("account_id", "=", accountId).orderBy("name");
      return (await rows.execute()).map(fromRow);
    },
    listAll: (search, offset, limit) => listAll(db, search, offset, limit),
    async update(id, change) {
      if (Object.values(change).every((value) => value === undefined)) return await find("id", id);
      const row = await db.updateTable("tunnels").set(toChange(change)).where("id", "=", id).returningAll()
        .executeTakeFirst();
      return row === undefined ? null : fromRow(row);
    },
    remove: (id) =>
      db.transaction().execute(async (transaction) => {
        const { numDeletedRows } = await transaction.deleteFrom("tunnels").where("id", "=", id).executeTakeFirst();
        await transaction.deleteFrom("tunnel_usage").where("tunnel_id", "=", id).execute();
        return Number(numDeletedRows) > 0;
      }),
  };
}

async function insert(db: Kysely<Database>, tunnel: PersistentTunnel, maxPerAccount: number): Promise<void> {
  const { accountId, name, label } = tunnel;
  await takeTurns(db, `tunnels ${accountId}`, async (transaction) => {
    const known = transaction.selectFrom("tunnels").where("account_id", "=", accountId);
    const { count } = await known.select((from) => from.fn.countAll().as("count")).executeTakeFirstOrThrow();
    if (Number(count) >= maxPerAccount) throw new TooManyTunnels(`the account has ${count} tunnels`);
    const result = await transaction.insertInto("tunnels").values(toRow(tunnel))
      .onConflict((conflict) => conflict.doNothing()).executeTakeFirst();
    if (Number(result.numInsertedOrUpdatedRows) > 0) return;
    const namesake = await known.select("id").where("name", "=", name).executeTakeFirst();
    if (namesake !== undefined) throw new NameTaken(`the account has a tunnel "${name}"`);
    throw new LabelTaken(`the label "${label}" is in use`);
  });
}

async function listAll(db: Kysely<Database>, search: string, offset: number, limit: number): Promise<TunnelPage> {
  // Names and labels consist of letters, digits and dashes, so a search with other characters finds no rows.
  const pattern = `%${search.replace(/[%_\\]/g, "!")}%`;
  const some = db.selectFrom("tunnels").where((row) =>
    row.or([row("name", "like", pattern), row("label", "like", pattern)])
  );
  const { count } = await some.select((from) => from.fn.countAll().as("count")).executeTakeFirstOrThrow();
  const rows = some.selectAll().orderBy("created_at", "desc").orderBy("id").limit(limit).offset(offset);
  return { tunnels: (await rows.execute()).map(fromRow), total: Number(count) };
}

type Row = Selectable<Database["tunnels"]>;

function toRow(tunnel: PersistentTunnel): Row {
  return {
    id: tunnel.id,
    account_id: tunnel.accountId,
    user_id: tunnel.userId,
    name: tunnel.name,
    label: tunnel.label,
    default_port: tunnel.defaultPort,
    allowed_ports: JSON.stringify(tunnel.allowedPorts),
    enabled: Number(tunnel.enabled),
    suspended: Number(tunnel.suspended),
    created_at: tunnel.createdAt,
  };
}

function toChange({ userId, defaultPort, allowedPorts, enabled, suspended }: PersistentTunnelChange): Partial<Row> {
  return {
    user_id: userId,
    default_port: defaultPort,
    allowed_ports: allowedPorts === undefined ? undefined : JSON.stringify(allowedPorts),
    enabled: enabled === undefined ? undefined : Number(enabled),
    suspended: suspended === undefined ? undefined : Number(suspended),
  };
}

function fromRow(row: Row): PersistentTunnel {
  return {
    id: row.id,
    accountId: row.account_id,
    userId: row.user_id,
    name: row.name,
    label: row.label,
    defaultPort: Number(row.default_port),
    allowedPorts: JSON.parse(row.allowed_ports),
    enabled: Number(row.enabled) === 1,
    suspended: Number(row.suspended) === 1,
    createdAt: Number(row.created_at),
  };
}
