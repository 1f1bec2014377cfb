/** Timers have 32 bits: longer ones, over 24 days, would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Resolves after `ms` milliseconds, or at once when `signal` aborts. Check the signal to distinguish them. */
export async function delay(ms: number, signal?: AbortSignal): Promise<void> {
  let left = ms;
  for (; left > MAX_TIMER_MS; left -= MAX_TIMER_MS) await wait(MAX_TIMER_MS, signal);
  await wait(left, signal);
}

function wait(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
  });
}

/** Resolves when `signal` aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
