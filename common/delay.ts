/** Timers take 32 bits: one that is set to more, 24 days, fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Resolves after `ms` milliseconds, or at once when `signal` aborts; look at the signal to tell which. */
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
