import type { Kysely, Selectable, Transaction } from "kysely";
import { LabelTaken, TooManyTunnels } from "../errors.ts";
import type { Database } from "../schema/mod.ts";
import { takeTurns } from "../take_turns.ts";

/** A stored ephemeral tunnel. Times are Unix milliseconds. */
export interface EphemeralTunnel {
  /** The public id in API paths. */
  id: string;
  /** The host label under the ephemeral domain. */
  label: string;
  /** The SHA-256 hash of the secret with which its owner connects, base64url. */
  secretHash: string;
  createdAt: number;
  expiresAt: number;
  /** Bytes carried so far in both directions. */
  bytesUsed: number;
  bytesLimit: number;
}

/** Traffic to add to a tunnel. */
export interface EphemeralTraffic {
  id: string;
  bytes: number;
}

/** Ephemeral tunnels. */
export interface EphemeralTunnels {
  /**
   * Stores a new tunnel.
   * @param limit valid tunnels at this one's creation; no limit by default
   * @throws LabelTaken, TooManyTunnels
   */
  insert(tunnel: EphemeralTunnel, limit?: number): Promise<void>;
  findByLabel(label: string): Promise<EphemeralTunnel | null>;
  findById(id: string): Promise<EphemeralTunnel | null>;
  /** Adds traffic to several tunnels in one transaction. Unknown ids are ignored. */
  addTraffic(traffic: readonly EphemeralTraffic[]): Promise<void>;
  /** Removes tunnels that expired before `time`. Returns their number. */
  removeExpired(time: number): Promise<number>;
  /** Counts tunnels that expire after `time`. */
  count(time: number): Promise<number>;
}

/** Creates ephemeral tunnels for either database. */
export function createEphemeralTunnels(db: Kysely<Database>): EphemeralTunnels {
  return {
    insert: (tunnel, limit = Infinity) =>
      takeTurns(db, "ephemeral tunnels", async (transaction) => {
        if (limit < Infinity && await count(transaction, tunnel.createdAt) >= limit) {
          throw new TooManyTunnels(`the server has ${limit} ephemeral tunnels`);
        }
        await insert(transaction, tunnel);
      }),
    async findByLabel(label) {
      return fromRow(
        await db.selectFrom("ephemeral_tunnels").selectAll().where("label", "=", label).executeTakeFirst(),
      );
    },
    async findById(id) {
      return fromRow(await db.selectFrom("ephemeral_tunnels").selectAll().where("id", "=", id).executeTakeFirst());
    },
    async addTraffic(traffic) {
      if (traffic.length === 0) return;
      // Sorted, so that two servers never wait for each other's rows in a circle.
      const ordered = traffic.toSorted((one, other) => one.id < other.id ? -1 : 1);
      await db.transaction().execute(async (transaction) => {
        for (const { id, bytes } of ordered) {
          await transaction.updateTable("ephemeral_tunnels")
            .set((row) => ({ bytes_used: row("bytes_used", "+", bytes) })).where("id", "=", id).execute();
        }
      });
    },
    count: (time) => count(db, time),
    async removeExpired(time) {
      const result = await db.deleteFrom("ephemeral_tunnels").where("expires_at", "<", time).executeTakeFirst();
      return Number(result.numDeletedRows);
    },
  };
}

async function insert(db: Transaction<Database>, tunnel: EphemeralTunnel): Promise<void> {
  const result = await db.insertInto("ephemeral_tunnels").values(toRow(tunnel))
    .onConflict((conflict) => conflict.column("label").doNothing()).executeTakeFirst();
  if (result.numInsertedOrUpdatedRows === 0n) throw new LabelTaken(`the label "${tunnel.label}" is in use`);
}

async function count(db: Kysely<Database>, time: number): Promise<number> {
  const row = await db.selectFrom("ephemeral_tunnels").select((from) => from.fn.countAll().as("count"))
    .where("expires_at", ">", time).executeTakeFirst();
  return Number(row?.count ?? 0);
}

type Row = Selectable<Database["ephemeral_tunnels"]>;

function toRow(tunnel: EphemeralTunnel): Row {
  return {
    id: tunnel.id,
    label: tunnel.label,
    secret_hash: tunnel.secretHash,
    created_at: tunnel.createdAt,
    expires_at: tunnel.expiresAt,
    bytes_used: tunnel.bytesUsed,
    bytes_limit: tunnel.bytesLimit,
  };
}

function fromRow(row: Row | undefined): EphemeralTunnel | null {
  if (row === undefined) return null;
  return {
    id: row.id,
    label: row.label,
    secretHash: row.secret_hash,
    createdAt: Number(row.created_at),
    expiresAt: Number(row.expires_at),
    bytesUsed: Number(row.bytes_used),
    bytesLimit: Number(row.bytes_limit),
  };
}
