import type { Child, PropsWithChildren } from "hono/jsx";
import { PROJECT, RELEASE } from "../../../common/release.ts";
import type { Viewer } from "../types.ts";
import { type Html, Icon } from "./parts.tsx";

/** Sections in the navigation bar. */
export type Section = "tunnels" | "views" | "account" | "admin";

/** Props for {@link Layout}. */
export interface LayoutProps {
  title: string;
  viewer: Viewer | null;
  section?: Section;
  /** Returns a page file's URL by its name. */
  asset: (name: string) => string;
  /** Modules and stylesheets for this page only, by file name. */
  scripts?: readonly string[];
  styles?: readonly string[];
  /** `narrow` for a page with a single form. */
  shape?: "wide" | "narrow" | "landing";
  /** Whether sign-up is open to all. */
  canSignUp: boolean;
}

const STYLES = ["tokens.css", "base.css", "layout.css", "controls.css", "content.css"];

/** An HQ page with navigation and footer. */
export function Layout(props: PropsWithChildren<LayoutProps>): Html {
  const { title, viewer, section, asset, scripts = [], styles = [], shape = "wide", canSignUp, children } = props;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width,initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${title} · ${PROJECT}`}</title>
        <link rel="icon" type="image/svg+xml" href={asset("mark.svg")} />
        {[...STYLES, ...styles].map((name) => <link key={name} rel="stylesheet" href={asset(name)} />)}
        {["hq.js", ...scripts].map((name) => <script key={name} type="module" src={asset(name)}></script>)}
      </head>
      <body>
        <a class="skip" href="#main">Skip to content</a>
        <header class="bar">
          <div class="inside">
            <a class="brand" href="/">
              <img src={asset("mark.svg")} alt="" width="28" height="28" />
              {PROJECT}
            </a>
            {viewer !== null && <SectionLinks viewer={viewer} section={section} />}
            {viewer === null ? <EntryLinks canSignUp={canSignUp} /> : <ViewerMenu viewer={viewer} />}
          </div>
        </header>
        <main id="main" class={shape} tabindex={-1}>{children}</main>
        <footer class="foot">
          <div class="inside">
            <span>{`${PROJECT} ${RELEASE}`}</span>
            <a href="/api-docs">API</a>
            <a href="/health">Status</a>
          </div>
        </footer>
      </body>
    </html>
  );
}

const SECTIONS: readonly { section: Section; href: string; text: string }[] = [
  { section: "tunnels", href: "/tunnels", text: "Tunnels" },
  { section: "views", href: "/views", text: "Views" },
  { section: "account", href: "/account", text: "Account" },
  { section: "admin", href: "/admin", text: "Admin" },
];

function SectionLinks({ viewer, section }: { viewer: Viewer; section?: Section }): Html {
  const shown = SECTIONS.filter((one) => one.section !== "admin" || viewer.user.isAdmin);
  return (
    <nav class="sections" aria-label="Main">
      {shown.map((one) => (
        <a key={one.section} href={one.href} aria-current={one.section === section ? "page" : undefined}>{one.text}</a>
      ))}
    </nav>
  );
}

function EntryLinks({ canSignUp }: { canSignUp: boolean }): Html {
  return (
    <nav class="entry" aria-label="Your account">
      <a class={canSignUp ? "button" : "primary"} href="/sign-in">Sign in</a>
      {canSignUp && <a class="primary" href="/sign-up">Sign up</a>}
    </nav>
  );
}

/** The user menu: account, other accounts, sign-out. */
function ViewerMenu({ viewer }: { viewer: Viewer }): Html {
  const { user, account, accounts } = viewer;
  return (
    <details class="menu">
      <summary>
        <span class="avatar" aria-hidden="true">{initialsOf(user.name)}</span>
        <span class="unseen">{`${user.name} in `}</span>
        <span class="who">{account.name}</span>
        <Icon name="chevron" />
      </summary>
      <div class="sheet">
        <div class="about">
          <b>{user.name}</b>
          <span>{user.email}</span>
        </div>
        {accounts.length > 1 && (
          <form method="post" action="/account/switch">
            <p id="switch-title">Switch account</p>
            {accounts.map(({ id, name }) => (
              <button
                key={id}
                type="submit"
                name="account"
                value={id}
                aria-current={id === account.id ? "true" : undefined}
              >
                <span>{name}</span>
                {id === account.id && <Icon name="check" />}
              </button>
            ))}
          </form>
        )}
        <a href="/account">Account</a>
        <a href="/account/security">Password and sessions</a>
        <form method="post" action="/sign-out">
          <button type="submit">Sign out</button>
        </form>
      </div>
    </details>
  );
}

function initialsOf(name: string): string {
  const words = name.trim().split(/\s+/);
  const letters = words.length > 1 ? [words[0], words[words.length - 1]] : [words[0]];
  return letters.map((word) => [...word][0] ?? "").join("").toUpperCase();
}

/** A page's title, description and actions. */
export function PageHead(
  { title, about, actions, back }: {
    title: Child;
    about?: Child;
    actions?: Child;
    back?: { href: string; text: string };
  },
): Html {
  return (
    <div class="page-head">
      <div>
        {back && <a class="back" href={back.href}>{back.text}</a>}
        <h1>{title}</h1>
        {about && <p>{about}</p>}
      </div>
      {actions && <div class="actions">{actions}</div>}
    </div>
  );
}

/** Tabs between a section's pages. */
export function Tabs(
  { label, current, tabs }: {
    label: string;
    current: string;
    tabs: readonly (readonly [href: string, text: string])[];
  },
): Html {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(([href, text]) => (
        <a key={href} href={href} aria-current={href === current ? "page" : undefined}>{text}</a>
      ))}
    </nav>
  );
}
