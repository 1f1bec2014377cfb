/** Returns rows as a Markdown table with equal column widths and right-aligned numbers. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((name, column) => Math.max(name.length, 3, ...rows.map((row) => row[column].length)));
  const isNumber = header.map((_, column) => column > 0 && rows.every((row) => /^[-–\d.]|^$/.test(row[column])));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => isNumber[i] ? cell.padStart(widths[i]) : cell.padEnd(widths[i])).join(" | ")} |`;
  const rule = widths.map((width, i) => isNumber[i] ? `${"-".repeat(width + 1)}:` : "-".repeat(width + 2));
  return [line(header), `|${rule.join("|")}|`, ...rows.map(line)].join("\n") + "\n";
}

/** Returns a number with three significant digits, or a dash without one. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 100) return String(Math.round(value));
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}
