/** Formats bytes in decimal units: `1.5 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let value = bytes / 1000, unit = 0;
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${value.toFixed(value < 9.995 ? 2 : 1)} ${units[unit]}`;
}

/** Tenths of milliseconds below ten. */
const TENTHS = Array.from({ length: 100 }, (_, tenths) => `${Math.floor(tenths / 10)}.${tenths % 10}ms`);

/** Formats a duration: `0.8ms`, `12ms`, `3.2s`, `2m 5s`. */
export function formatDuration(ms: number): string {
  // Most durations in a log share a hundred texts.
  if (ms < 9.95) return TENTHS[Math.max(0, Math.floor(ms * 10 + 0.5))];
  if (ms < 999.5) return `${Math.round(ms)}ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
}

/** Formats the local time, `14:05:09`. */
export function formatTime(date: Date): string {
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}

/** Replaces control characters by `?`, because untrusted text could control the terminal. */
export function printable(text: string): string {
  // deno-lint-ignore no-control-regex -- matches control characters
  return text.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, "?");
}
