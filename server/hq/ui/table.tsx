import type { AuditEntry } from "../../store/mod.ts";
import type { Child } from "hono/jsx";
import { EmptyState, type Html, Time } from "./parts.tsx";

/** A table column. */
export interface Column<T> {
  head: string;
  /** Renders a row's cell. */
  cell(row: T): Child;
  /** `end` for numbers. */
  align?: "end";
  /** Hides the column on phones. */
  minor?: boolean;
  /** Shows the column's name to screen readers only, as above buttons. */
  isHeadHidden?: boolean;
}

/** Props for {@link Table}. */
export interface TableProps<T> {
  /** The table's description for screen readers. */
  caption: string;
  columns: readonly Column<T>[];
  /** Renders a row's buttons, in a last column. */
  actions?(row: T): Child;
  rows: readonly T[];
  keyOf(row: T): string;
  /** On phones, puts all columns after the first on one line, without names. */
  isCompact?: boolean;
}

/** A table. On phones each row becomes a card with the columns' names before the values. */
export function Table<T>({ caption, columns: given, actions, rows, keyOf, isCompact }: TableProps<T>): Html {
  const columns = actions === undefined
    ? given
    : [...given, { head: "Actions", isHeadHidden: true, align: "end" as const, cell: actions }];
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

/** The audit log, newest entry first: permission changes, and calls sent again. */
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

/** Returns `Member added` for `member_added`. */
function wordsOf(action: string): string {
  const words = action.replaceAll("_", " ");
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
