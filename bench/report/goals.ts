import { formatNumber, formatTable } from "./table.ts";

/** A bound for a figure. */
export interface Goal {
  name: string;
  value: number;
  /** Standard error; NaN or left out if unknown. */
  error?: number;
  /** The inclusive bound. */
  bound: number;
  kind: "at most" | "at least";
}

/** Returns the goals and their results as a table. */
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
