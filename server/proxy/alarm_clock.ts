import { clearTimeout, setTimeout } from "node:timers";

/** Something that is to happen at a time. */
export interface Alarm {
  /** By `performance.now()`. */
  dueAt: number;
  readonly ring: () => void;
}

/**
 * Many alarms on one timer. Nearly all are cleared before they ring, and a timer of its own for each costs more than
 * all else that a request does about its time.
 */
export interface AlarmClock {
  set(ms: number, ring: () => void): Alarm;
  /** Moves an alarm to that many milliseconds from now; one that has rung stays so. */
  postpone(alarm: Alarm, ms: number): void;
  clear(alarm: Alarm): void;
  /** Forgets all alarms and lets go of the timer. */
  stop(): void;
}

export function createAlarmClock(): AlarmClock {
  const alarms = new Set<Alarm>();
  let timer: NodeJS.Timeout | undefined;
  let wakesAt = Infinity;

  function wakeBy(dueAt: number): void {
    if (dueAt >= wakesAt) return;
    clearTimeout(timer);
    wakesAt = dueAt;
    // It stays when the last alarm is cleared, as the next one is near; so it must not hold the process back.
    timer = setTimeout(ringDue, Math.max(0, dueAt - performance.now())).unref();
  }

  function ringDue(): void {
    wakesAt = Infinity;
    const now = performance.now();
    let next = Infinity;
    for (const alarm of alarms) {
      if (alarm.dueAt > now) next = Math.min(next, alarm.dueAt);
      else if (alarms.delete(alarm)) alarm.ring();
    }
    wakeBy(next);
  }

  return {
    set(ms, ring) {
      const alarm = { dueAt: performance.now() + ms, ring };
      alarms.add(alarm);
      wakeBy(alarm.dueAt);
      return alarm;
    },
    postpone(alarm, ms) {
      alarm.dueAt = performance.now() + ms;
    },
    clear(alarm) {
      alarms.delete(alarm);
    },
    stop() {
      alarms.clear();
      clearTimeout(timer);
      wakesAt = Infinity;
    },
  };
}
