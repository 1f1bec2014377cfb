/** The day of a time, in UTC: 2026-11-22. @param time Unix milliseconds */
export const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** The month of a time, in UTC: 2026-11. @param time Unix milliseconds */
export const monthOf = (time: number): string => new Date(time).toISOString().slice(0, 7);

/** When the next month begins, in UTC. @param time Unix milliseconds */
export function startOfNextMonth(time: number): number {
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}
