export { AuditTable } from "./audit.tsx";
export { type DayBar, DayChart, MeterBar } from "./chart.tsx";
export { CheckField, FieldSet, SelectField, TextField } from "./field.tsx";
export type { Html } from "./html.ts";
export { Icon, type IconName } from "./icon.tsx";
export { Layout, PageHead, type Section, Tabs } from "./layout.tsx";
export {
  ActionButton,
  AskButton,
  AskDialog,
  Badge,
  Commands,
  CopyButton,
  CopyText,
  EmptyState,
  Facts,
  Notice,
  Pagination,
  Panel,
  Time,
  type Tone,
} from "./parts.tsx";
export { type Column, Table } from "./table.tsx";
