import { formatNumber, formatTable } from "./table.ts";

/** What a figure is held to. */
export interface Goal {
  name: string;
  value: number;
  /** Its standard error; NaN or left out where that is not known. */
  error?: number;
  /** The bound, included. */
  bound: number;
  kind: "at most" | "at least";
}

/** The goals with whether they are met, as a table. */
export function formatGoals(goals: readonly Goal[]): string {
  const rows = goals.map((goal) => [
    goal.name,
    formatMeasured(goal),
    `${goal.kind} ${goal.bound}`,
    Number.isFinite(goal.value) ? (isMet(goal) ? "yes" : "no") : "not measured",
  ]);
  return formatTable(["goal", "measured", "wanted", "met"], rows);
}

function formatMeasured({ value, error = NaN }: Goal): string {
  return Number.isFinite(error) ? `${formatNumber(value)} ± ${error.toFixed(2)}` : formatNumber(value);
}

function isMet({ value, bound, kind }: Goal): boolean {
  return kind === "at most" ? value <= bound : value >= bound;
}
