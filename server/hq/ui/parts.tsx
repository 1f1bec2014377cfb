import type { HtmlEscapedString } from "hono/utils/html";
import type { Child, PropsWithChildren } from "hono/jsx";

/** A component's result. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** Outlines on a 24 by 24 grid. */
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

/** An icon's name. */
export type IconName = keyof typeof PATHS;

/** A decorative icon beside words that carry the same meaning. */
export function Icon({ name, class: extra }: { name: IconName; class?: string }): Html {
  return (
    <svg class={extra === undefined ? "icon" : `icon ${extra}`} viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** A colour's meaning, which words always repeat. */
export type Tone = "good" | "warn" | "bad" | "plain" | "accent";

/** A short state label. Its words carry the meaning, and its colour repeats them. */
export function Badge(
  { tone = "plain", dot, children }: PropsWithChildren<{ tone?: Tone; dot?: boolean }>,
): Html {
  return <span class={`badge ${tone}${dot ? " dot" : ""}`}>{children}</span>;
}

/** A message about the whole page. */
export function Notice(
  { tone = "plain", children }: PropsWithChildren<{ tone?: Tone }>,
): Html {
  const isBad = tone === "bad" || tone === "warn";
  return (
    <div class={`notice ${tone}`} role={isBad ? "alert" : "status"}>
      <Icon name={isBad ? "alert" : "check"} />
      <div>{children}</div>
    </div>
  );
}

/** Props for {@link Panel}. */
export interface PanelProps {
  title?: Child;
  /** A sentence below the title. */
  about?: Child;
  /** Controls to the right. */
  actions?: Child;
  id?: string;
  /** Removes the space around the content, for tables. */
  flush?: boolean;
}

/** A page section with a title and a border. */
export function Panel({ title, about, actions, id, flush, children }: PropsWithChildren<PanelProps>): Html {
  return (
    <section class={flush ? "panel flush" : "panel"} id={id}>
      {(title || actions) && (
        <header>
          <div>
            {title && <h2>{title}</h2>}
            {about && <p>{about}</p>}
          </div>
          {actions && <div class="actions">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

/** A placeholder for an empty list, with the next step. */
export function EmptyState(
  { icon, title, children, action }: PropsWithChildren<{ icon: IconName; title: string; action?: Child }>,
): Html {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h3>{title}</h3>
      <p>{children}</p>
      {action}
    </div>
  );
}

/** Names with their values. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: Child])[] }): Html {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Text with a copy button, which appears when scripts run. */
export function CopyText({ text, label, block }: { text: string; label: string; block?: boolean }): Html {
  return (
    <span class={block ? "copy block" : "copy"}>
      <code>{text}</code>
      <CopyButton text={text} label={label} />
    </span>
  );
}

/** Commands with their descriptions. */
export function Commands({ commands }: { commands: readonly (readonly [what: string, command: string])[] }): Html {
  return (
    <dl class="commands">
      {commands.map(([what, command]) => (
        <div key={command}>
          <dt>{what}</dt>
          <dd>
            <CopyText text={command} label={what} block />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** The button from {@link CopyText} alone. */
export function CopyButton({ text, label }: { text: string; label: string }): Html {
  return (
    <button type="button" class="tool" data-copy={text} aria-label={`Copy ${label}`} hidden>
      <Icon name="copy" />
    </button>
  );
}

/** A time, in UTC until a script converts it to local time. */
export function Time({ ms, seconds }: { ms: number; seconds?: boolean }): Html {
  const iso = new Date(ms).toISOString();
  const text = `${iso.slice(0, 10)} ${iso.slice(11, seconds ? 19 : 16)} UTC`;
  return <time dateTime={iso} data-time={seconds ? "seconds" : "minutes"}>{text}</time>;
}

/** Props for {@link AskDialog}. */
export interface DialogProps {
  id: string;
  title: string;
  /** The form's target. */
  action: string;
  /** The button's text. */
  confirm: string;
  /** Hidden fields. */
  values?: Readonly<Record<string, string>>;
  /** The page's path. */
  page: string;
  /** The dialog that the page's address opens: see {@link AskButton}. */
  asked?: string;
}

/** A confirmation dialog for an action that cannot be undone. {@link AskButton} opens it, also without scripts. */
export function AskDialog(
  { id, title, action, confirm, values = {}, page, asked, children }: PropsWithChildren<DialogProps>,
): Html {
  return (
    <dialog id={id} class="dialog" aria-labelledby={`${id}-title`} open={asked === id}>
      <h2 id={`${id}-title`}>{title}</h2>
      <form method="post" action={action}>
        {Object.entries(values).map(([name, value]) => <input key={name} type="hidden" name={name} value={value} />)}
        <div class="words">{children}</div>
        <div class="buttons">
          <a class="button" href={page} data-close>Cancel</a>
          <button type="submit" class="danger">{confirm}</button>
        </div>
      </form>
    </dialog>
  );
}

/** Opens a dialog. Without scripts it leads to `?ask=<dialog>`, where the page renders the dialog open. */
export function AskButton(
  { dialog, page, class: look = "button", label, children }: PropsWithChildren<
    { dialog: string; page: string; class?: string; label?: string }
  >,
): Html {
  return (
    <a class={look} href={`${page}?ask=${dialog}`} role="button" data-dialog={dialog} aria-label={label}>{children}</a>
  );
}

/** Links to a list's newer and older page. */
export function Pagination({ newer, older }: { newer: string | null; older: string | null }): Html | null {
  if (newer === null && older === null) return null;
  return (
    <nav class="pages" aria-label="Pages">
      {newer === null ? <span /> : <a class="button" href={newer} rel="prev">Newer</a>}
      {older === null ? <span /> : <a class="button" href={older} rel="next">Older</a>}
    </nav>
  );
}

/** A button that acts at once, without a confirmation. */
export function ActionButton(
  { action, values = {}, class: look = "button", label, children }: PropsWithChildren<
    { action: string; values?: Readonly<Record<string, string>>; class?: string; label?: string }
  >,
): Html {
  return (
    <form method="post" action={action} class="inline">
      {Object.entries(values).map(([name, value]) => <input key={name} type="hidden" name={name} value={value} />)}
      <button type="submit" class={look} aria-label={label}>{children}</button>
    </form>
  );
}
