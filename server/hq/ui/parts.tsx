import type { Child, PropsWithChildren } from "hono/jsx";
import { Icon, type IconName } from "./icon.tsx";
import type { Html } from "./html.ts";

/** What a colour says; it is never said by colour alone. */
export type Tone = "good" | "warn" | "bad" | "plain" | "accent";

/** A word or two on the state of something. The words say it, the colour repeats it. */
export function Badge(
  { tone = "plain", dot, children }: PropsWithChildren<{ tone?: Tone; dot?: boolean }>,
): Html {
  return <span class={`badge ${tone}${dot ? " dot" : ""}`}>{children}</span>;
}

/** A message about the page as a whole. */
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

/** A titled part of a page. */
export interface PanelProps {
  title?: Child;
  /** A sentence below the title. */
  about?: Child;
  /** At the right of the title. */
  actions?: Child;
  id?: string;
  /** Without space around the content, for tables. */
  flush?: boolean;
}

/** A part of a page with a title and a border. */
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

/** What stands where nothing is yet, and what to do about it. */
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

/** Names and values, one a line. */
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

/** Text to take along, with a button that copies it where scripts run. */
export function CopyText({ text, label, block }: { text: string; label: string; block?: boolean }): Html {
  return (
    <span class={block ? "copy block" : "copy"}>
      <code>{text}</code>
      <CopyButton text={text} label={label} />
    </span>
  );
}

/** Commands to type, each with what it is for. */
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

/** The button of {@link CopyText} alone. */
export function CopyButton({ text, label }: { text: string; label: string }): Html {
  return (
    <button type="button" class="tool" data-copy={text} aria-label={`Copy ${label}`} hidden>
      <Icon name="copy" />
    </button>
  );
}

/** A moment, in UTC until a script shows it in the reader's own time. */
export function Time({ ms, seconds }: { ms: number; seconds?: boolean }): Html {
  const iso = new Date(ms).toISOString();
  const text = `${iso.slice(0, 10)} ${iso.slice(11, seconds ? 19 : 16)} UTC`;
  return <time dateTime={iso} data-time={seconds ? "seconds" : "minutes"}>{text}</time>;
}

/** A question before something that cannot be undone. It works without script, by the page's address. */
export interface DialogProps {
  id: string;
  title: string;
  /** Where the form goes. */
  action: string;
  /** What the button says. */
  confirm: string;
  /** Hidden fields. */
  values?: Readonly<Record<string, string>>;
  /** Path of the page that it is on. */
  page: string;
  /** The dialog that the page's address asks for: see {@link AskButton}. */
  asked?: string;
}

/** A question before something that cannot be undone, opened by {@link AskButton}. */
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

/** Opens a dialog: where no scripts run by an address, `?ask=<dialog>`, at which the page shows it. */
export function AskButton(
  { dialog, page, class: look = "button", label, children }: PropsWithChildren<
    { dialog: string; page: string; class?: string; label?: string }
  >,
): Html {
  return (
    <a class={look} href={`${page}?ask=${dialog}`} role="button" data-dialog={dialog} aria-label={label}>{children}</a>
  );
}

/** Ways to the newer and the older part of a long list. */
export function Pagination({ newer, older }: { newer: string | null; older: string | null }): Html | null {
  if (newer === null && older === null) return null;
  return (
    <nav class="pages" aria-label="Pages">
      {newer === null ? <span /> : <a class="button" href={newer} rel="prev">Newer</a>}
      {older === null ? <span /> : <a class="button" href={older} rel="next">Older</a>}
    </nav>
  );
}

/** A button that does one thing at once, without a question. */
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
