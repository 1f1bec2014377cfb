import { formatBytes } from "../../../common/format.ts";
import type { Html } from "./html.ts";

export interface DayBar {
  /** `2026-11-22`. */
  day: string;
  bytes: number;
  requests: number;
}

const WIDTH = 720, HEIGHT = 180, FOOT = 22, HEAD = 18;

/** Bytes a day as bars, with the same as a table for who cannot see them. Days come in their order. */
export function DayChart({ days }: { days: readonly DayBar[] }): Html {
  const most = niceLimit(Math.max(0, ...days.map(({ bytes }) => bytes)));
  const step = WIDTH / Math.max(1, days.length);
  const scale = (HEIGHT - FOOT - HEAD) / most;
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
        {[0, 0.5, 1].map((share) => {
          const y = HEIGHT - FOOT - share * most * scale;
          return (
            <g key={String(share)}>
              <line class="rule" x1="0" x2={WIDTH} y1={y} y2={y} />
              {share > 0 && <text class="mark" x="0" y={y - 4}>{formatBytes(share * most)}</text>}
            </g>
          );
        })}
        {days.map(({ day, bytes, requests }, index) => {
          // What is there at all is seen.
          const height = bytes === 0 ? 0 : Math.max(2, bytes * scale);
          return (
            <g key={day}>
              <rect
                class="bar"
                x={index * step + step * 0.15}
                y={HEIGHT - FOOT - height}
                width={step * 0.7}
                height={height}
                rx="2"
              />
              <rect class="reach" x={index * step} y={HEAD} width={step} height={HEIGHT - HEAD - FOOT}>
                <title>{`${day}: ${formatBytes(bytes)}, ${requests} requests`}</title>
              </rect>
            </g>
          );
        })}
        {days.length > 0 && (
          <>
            <text class="mark" x="0" y={HEIGHT - 5}>{days[0].day}</text>
            <text class="mark last" x={WIDTH} y={HEIGHT - 5}>{days[days.length - 1].day}</text>
          </>
        )}
      </svg>
      <figcaption class="unseen">
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
      </figcaption>
    </figure>
  );
}

/** The next round number of bytes, so that the rules of the chart have short names. */
export function niceLimit(most: number): number {
  if (most <= 0) return 1000;
  const unit = 10 ** Math.floor(Math.log10(most));
  return (([1, 2, 5].find((factor) => factor * unit >= most)) ?? 10) * unit;
}

/** How much of a limit is used. */
export function Meter({ used, limit, label }: { used: number; limit: number; label: string }): Html {
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
