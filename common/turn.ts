import { setImmediate } from "node:timers";

let next: Promise<void> | null = null;

/** Resolves in the next turn of the event loop; all who wait for the same one share a callback. */
export function nextTurn(): Promise<void> {
  next ??= new Promise((resolve) => {
    setImmediate(() => {
      next = null;
      resolve();
    });
  });
  return next;
}
