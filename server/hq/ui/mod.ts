export { type DayBar, DayChart, MeterBar } from "./chart.tsx";
export { CheckField, FieldSet, SelectField, TextField } from "./field.tsx";
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
  type Html,
  Icon,
  type IconName,
  Notice,
  Pagination,
  Panel,
  Time,
  type Tone,
} from "./parts.tsx";
export { AuditTable, type Column, Table } from "./table.tsx";
