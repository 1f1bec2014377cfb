import type { AuditEntry } from "../../store/mod.ts";
import type { Child } from "hono/jsx";
import { EmptyState, type Html, Time } from "./parts.tsx";

/** A column of a table. */
export interface Column<T> {
  head: string;
  /** What stands in it for a row. */
  cell(row: T): Child;
  /** `end` for numbers. */
  align?: "end";
  /** Not told on phones. */
  minor?: boolean;
  /** The column's words are for who listens alone, as above buttons. */
  isHeadHidden?: boolean;
}

/** A table that becomes a list on phones. */
export interface TableProps<T> {
  /** What the table is of, for who listens. */
  caption: string;
  columns: readonly Column<T>[];
  /** The buttons of a row, in a last column. */
  actions?(row: T): Child;
  rows: readonly T[];
  keyOf(row: T): string;
  /** On phones what follows the first column stands on one line, without names. */
  isCompact?: boolean;
}

/** Rows of things of one kind. On phones each row becomes a card, with the columns' names before the values. */
export function Table<T>({ caption, columns: told, actions, rows, keyOf, isCompact }: TableProps<T>): Html {
  const columns = actions === undefined
    ? told
    : [...told, { head: "Actions", isHeadHidden: true, align: "end" as const, cell: actions }];
  const classOf = ({ align, minor }: Column<T>) =>
    [align, minor && "minor"].filter((name) => name).join(" ") || undefined;
  return (
    <div class={isCompact ? "table compact" : "table"}>
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} scope="col" class={classOf(column)}>
                {column.isHeadHidden ? <span class="unseen">{column.head}</span> : column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.head} class={classOf(column)} data-head={column.isHeadHidden ? undefined : column.head}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What changed who may do what, and what members had the server do to others, the newest first. */
export function AuditTable({ entries }: { entries: readonly AuditEntry[] }): Html {
  if (entries.length === 0) return <EmptyState icon="lock" title="Nothing yet">Changes are listed here.</EmptyState>;
  return (
    <Table
      caption="Audit log"
      rows={entries}
      keyOf={({ id }) => id}
      columns={[
        { head: "What", cell: ({ action }) => <b>{wordsOf(action)}</b> },
        { head: "Whom or what", cell: ({ subject }) => subject },
        { head: "By", cell: ({ actor }) => actor },
        { head: "When", cell: ({ at }) => <Time ms={at} /> },
      ]}
    />
  );
}

/** `member_added` as `Member added`. */
function wordsOf(action: string): string {
  const words = action.replaceAll("_", " ");
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
