import { formatNumber, formatTable } from "./table.ts";

/** What a figure is held to. */
export interface Goal {
  name: string;
  value: number;
  /** The bound, included. */
  bound: number;
  kind: "at most" | "at least";
}

/** The goals with whether they are met, as a table. */
export function formatGoals(goals: readonly Goal[]): string {
  const rows = goals.map((goal) => [
    goal.name,
    formatNumber(goal.value),
    `${goal.kind} ${goal.bound}`,
    Number.isFinite(goal.value) ? (isMet(goal) ? "yes" : "no") : "not measured",
  ]);
  return formatTable(["goal", "measured", "wanted", "met"], rows);
}

function isMet({ value, bound, kind }: Goal): boolean {
  return kind === "at most" ? value <= bound : value >= bound;
}
