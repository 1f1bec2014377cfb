import type { Html } from "./html.ts";

/** Outlines on a grid of 24 by 24. */
const PATHS = {
  account: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4.5 20a7.5 7.5 0 0 1 15 0",
  admin: "M12 3 5 6v5c0 4.5 3 8 7 10 4-2 7-5.5 7-10V6z",
  alert: "M12 8v5M12 16.5v.01M10.3 4.2 2.8 17a2 2 0 0 0 1.7 3h15a2 2 0 0 0 1.7-3L13.7 4.2a2 2 0 0 0-3.4 0Z",
  check: "m5 12.5 4.5 4.5L19 7.5",
  chevron: "m7 10 5 5 5-5",
  copy: "M9 9h9a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H9a2 2 0 0 1-2-2v-8a2 2 0 0 1 2-2ZM4 15V5a2 2 0 0 1 2-2h9",
  device: "M4 5h16v11H4zM9 20h6M12 16v4",
  inbox: "M4 13l2.5-8h11L20 13v6H4zM4 13h5l1.2 2.5h3.6L15 13h5",
  key: "M14.5 9.5a4 4 0 1 0-3.8 4l1.3 1.3h2v2h2v2h4v-3l-5.7-5.2c.1-.3.2-.7.2-1.1ZM8.5 8.5v.01",
  lock: "M7 11h10a2 2 0 0 1 2 2v5a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2v-5a2 2 0 0 1 2-2ZM8 11V8a4 4 0 0 1 8 0v3",
  mail: "M4 6h16v12H4zM4 7l8 6 8-6",
  plus: "M12 5v14M5 12h14",
  proxy: "M4 8h13l-3.5-3.5M20 16H7l3.5 3.5",
  tunnel: "M3 20V12a9 9 0 0 1 18 0v8M8 20v-8a4 4 0 0 1 8 0v8M3 20h5M16 20h5",
} as const;

/** An icon that there is. */
export type IconName = keyof typeof PATHS;

/** A small picture beside words: it says nothing that they do not. */
export function Icon({ name, class: extra }: { name: IconName; class?: string }): Html {
  return (
    <svg class={extra === undefined ? "icon" : `icon ${extra}`} viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
