import { formatBytes } from "../../../common/format.ts";
import type { Html } from "./parts.tsx";

/** One day's traffic. */
export interface DayBar {
  /** `2026-11-22`. */
  day: string;
  bytes: number;
  requests: number;
}

/** The drawing's height in its own units. The page stretches it to the available width. */
const HEIGHT = 100;

/** A bar chart with bytes per day, in day order, with a table for screen readers. */
export function DayChart({ days }: { days: readonly DayBar[] }): Html {
  const most = niceLimit(Math.max(0, ...days.map(({ bytes }) => bytes)));
  return (
    <figure class="chart">
      <div class="marks" aria-hidden="true">
        <span>{formatBytes(most)}</span>
        <span>{formatBytes(most / 2)}</span>
      </div>
      <svg viewBox={`0 0 ${Math.max(1, days.length)} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {days.map((day, index) => <Bar key={day.day} {...{ day, index, most }} />)}
      </svg>
      <div class="ends" aria-hidden="true">
        <span>{days[0]?.day}</span>
        <span>{days.at(-1)?.day}</span>
      </div>
      <figcaption class="unseen">
        <DayTable days={days} />
      </figcaption>
    </figure>
  );
}

function Bar({ day: { day, bytes, requests }, index, most }: { day: DayBar; index: number; most: number }): Html {
  // A day with any traffic is visible.
  const height = bytes === 0 ? 0 : Math.max(1, bytes / most * HEIGHT);
  return (
    <g>
      <rect class="bar" x={index + 0.15} y={HEIGHT - height} width="0.7" height={height} />
      <rect class="reach" x={index} y="0" width="1" height={HEIGHT}>
        <title>{`${day}: ${formatBytes(bytes)}, ${requests} requests`}</title>
      </rect>
    </g>
  );
}

function DayTable({ days }: { days: readonly DayBar[] }): Html {
  return (
    <table>
      <caption>Traffic a day</caption>
      <thead>
        <tr>
          <th scope="col">Day</th>
          <th scope="col">Traffic</th>
          <th scope="col">Requests</th>
        </tr>
      </thead>
      <tbody>
        {days.map(({ day, bytes, requests }) => (
          <tr key={day}>
            <td>{day}</td>
            <td>{formatBytes(bytes)}</td>
            <td>{String(requests)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Returns the next round byte count, so that the chart has short labels. */
function niceLimit(most: number): number {
  if (most <= 0) return 1000;
  const unit = 10 ** Math.floor(Math.log10(most));
  return (([1, 2, 5].find((factor) => factor * unit >= most)) ?? 10) * unit;
}

/** A bar that shows how full a limit is. */
export function MeterBar({ used, limit, label }: { used: number; limit: number; label: string }): Html {
  const share = limit <= 0 ? 1 : Math.min(1, used / limit);
  const tone = share >= 1 ? "bad" : share >= 0.8 ? "warn" : "";
  return (
    <div class="meter">
      <div class="words">
        <b>{`${formatBytes(used)} of ${formatBytes(limit)}`}</b>
        <span>{`${Math.floor(share * 100)} %`}</span>
      </div>
      <svg viewBox="0 0 100 2" preserveAspectRatio="none" role="img" aria-label={label}>
        <rect class="rail" width="100" height="2" />
        <rect class={`fill ${tone}`} width={share * 100} height="2" />
      </svg>
    </div>
  );
}
