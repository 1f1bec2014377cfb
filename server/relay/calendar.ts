/** Returns the day in UTC, for instance 2026-11-22. @param time Unix milliseconds */
export const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** Returns the month in UTC, for instance 2026-11. @param time Unix milliseconds */
export const monthOf = (time: number): string => new Date(time).toISOString().slice(0, 7);

/** Returns the start of the next month in UTC, in Unix milliseconds. @param time Unix milliseconds */
export function startOfNextMonth(time: number): number {
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}
