let now = NaN;

/**
 * `performance.now()`, asked once for all that is done before the event loop goes on: it costs as much as a small request's
 * head. For what is counted in milliseconds at least.
 */
export function turnTime(): number {
  if (Number.isNaN(now)) {
    now = performance.now();
    void DONE.then(forget);
  }
  return now;
}

const DONE = Promise.resolve();

function forget(): void {
  now = NaN;
}
