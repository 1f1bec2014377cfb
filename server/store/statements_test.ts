import { equal } from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { givesRows } from "./statements.ts";

const STATEMENTS = [
  "select * from things",
  "with some as (select 1 as id) select * from some",
  "values (1, 2)",
  "explain query plan select * from things",
  'insert into "things" ("id") values (?)',
  'insert into "things" ("id") values (?) on conflict do nothing returning "id"',
  'insert into "things" ("id", "returned") select 1, 2',
  'update "things" set "id" = ? where "id" = ? returning *',
  'update "things" set "returned" = ?',
  'delete from "things" where "id" in (select 1)',
  "create table others (id text)",
  "begin immediate",
  "commit",
  "savepoint one",
];

Deno.test("givesRows knows of each kind of statement what SQLite itself says", () => {
  const database = new DatabaseSync(":memory:");
  database.exec("create table things (id text primary key, returned text)");
  for (const sql of STATEMENTS) equal(givesRows(sql), database.prepare(sql).columns().length > 0, sql);
  database.close();
});
