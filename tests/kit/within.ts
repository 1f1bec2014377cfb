/**
 * How long anything is waited for, in milliseconds. Tests wait for events, never for time: this only ends the wait for
 * something that does not come, on a slow and busy machine too.
 */
export const PATIENCE_MS = 60_000;

/**
 * The promise, or an error when it takes longer than anything should.
 * @param what what is waited for, for the message
 * @param describe more for the message, read at the end
 */
export async function within<T>(
  what: string,
  promise: Promise<T>,
  describe: () => string = () => "",
  ms: number = PATIENCE_MS,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not come within ${ms / 1000} s${describe()}`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
