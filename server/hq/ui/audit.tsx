import type { AuditEntry } from "../../store/mod.ts";
import type { Html } from "./html.ts";
import { EmptyState, Time } from "./parts.tsx";
import { Table } from "./table.tsx";

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
