/** Has a write to make. */
export interface Due {
  /** Never throws. */
  writeDue(): void;
}

let due: Due[] = [];

/**
 * Has `one` write once what has come for others, in this turn of the event loop, has been dealt with too. Making answers
 * and handing them to the system, one after the other, each throw the code of the other out of the processor's cache;
 * first all answers and then all writes take less.
 */
export function writeSoon(one: Due): void {
  if (due.push(one) === 1) void DONE.then(writeAll);
}

function writeAll(): void {
  const all = due;
  due = [];
  for (const one of all) one.writeDue();
}

const DONE = Promise.resolve();
