import type { Child, PropsWithChildren } from "hono/jsx";
import { isLoopbackHost } from "../../../common/loopback.ts";
import type { Accounts, Entered } from "../../accounts/mod.ts";
import {
  doneNotice,
  EMPTY_FORM,
  type FormState,
  goTo,
  readForm,
  refuseForm,
  safeNext,
  servePage,
  textOf,
} from "../page.tsx";
import type { HqApp, HqContext } from "../types.ts";
import { type Html, Notice, TextField } from "../ui/mod.ts";

const DONE = {
  reset: "Your password is changed. Sign in with the new one.",
  "signed-out": "You are signed out.",
};

/** Adds the pages for signing in and out. */
export function addSignIn(app: HqApp, { entry }: Accounts): void {
  app.get("/sign-in", (context) => {
    const way = readWay(context.req.url);
    if (context.var.viewer !== null && way.oauth === "") return goTo(safeNext(way.next));
    return serveSignIn(context, way, EMPTY_FORM);
  });
  app.post("/sign-in", async (context) => {
    const fields = await readForm(context);
    const way = wayOfForm(fields);
    try {
      const form = { email: textOf(fields, "email"), password: textOf(fields, "password") };
      return goOn(await entry.signIn(context.env.exchange, { ...form, ...oauthOf(way) }), way);
    } catch (error) {
      return serveSignIn(context, way, refuseForm(fields, error, ["email", "password"]));
    }
  });
  app.post("/sign-out", async (context) => {
    const { cookies } = await entry.signOut(context.env.exchange);
    return goTo("/sign-in?done=signed-out", cookies);
  });
}

/** Returns a client's login query, as the accounts area expects it. */
export const oauthOf = ({ oauth }: Way): { oauthQuery?: string } => oauth === "" ? {} : { oauthQuery: oauth };

function serveSignIn(context: HqContext, way: Way, form: FormState): Response {
  const { canSignUp } = context.var.site;
  return servePage(context, {
    title: "Sign in",
    shape: "narrow",
    status: form.status,
    formTargets: formTargetsOf(way.oauth),
    content: (
      <EntryCard
        title="Sign in"
        lead={way.oauth === "" ? undefined : "Sign in to let the Portway client use your account."}
        problem={form.problems.form}
        below={canSignUp || way.invitation !== ""
          ? (
            <>
              New here? <a href={entryUrl("/sign-up", way)}>Create an account</a>
            </>
          )
          : undefined}
      >
        {doneNotice(context, DONE)}
        <form method="post" action="/sign-in" class="fields">
          <WayFields way={way} />
          <TextField
            label="Email"
            name="email"
            type="email"
            autocomplete="username"
            value={form.values.email}
            error={form.problems.email}
            required
            autofocus={form.values.email === undefined}
          />
          <TextField
            label="Password"
            name="password"
            type="password"
            autocomplete="current-password"
            error={form.problems.password}
            hint={<a href="/forgot">Forgot your password?</a>}
            required
            autofocus={form.values.email !== undefined}
          />
          <button type="submit" class="primary full">Sign in</button>
        </form>
      </EntryCard>
    ),
  });
}

/** Hidden fields that keep a {@link Way}. */
export function WayFields({ way }: { way: Way }): Html {
  return (
    <>
      {Object.entries(way).filter(([, value]) => value !== "").map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
    </>
  );
}

/** The reason for a visit to an entry page, which its forms and links preserve. */
export interface Way {
  /** The HQ page that follows the sign-in; "" for the default page. */
  next: string;
  /** A client's whole login query; "" without one. */
  oauth: string;
  /** An invitation's id; "" without one. */
  invitation: string;
}

/** Parameters that identify a client's login query. */
const OAUTH_NAMES = ["client_id", "sig"];

/** Reads the way from an entry page's address. */
export function readWay(url: string): Way {
  const { search, searchParams } = new URL(url);
  if (OAUTH_NAMES.every((name) => searchParams.has(name))) {
    return { next: "", oauth: search.slice(1), invitation: "" };
  }
  const next = searchParams.get("next");
  return {
    next: next === null ? "" : safeNext(next, ""),
    oauth: "",
    invitation: searchParams.get("invitation") ?? "",
  };
}

/** Reads the way from a form's hidden fields. */
export function wayOfForm(fields: URLSearchParams): Way {
  return {
    next: safeNext(fields.get("next"), ""),
    oauth: fields.get("oauth") ?? "",
    invitation: fields.get("invitation") ?? "",
  };
}

/** Returns another entry page's address, with the same way. */
export function entryUrl(path: string, { next, oauth, invitation }: Way): string {
  if (oauth !== "") return `${path}?${oauth}`;
  const query = new URLSearchParams();
  if (next !== "") query.set("next", next);
  if (invitation !== "") query.set("invitation", invitation);
  return query.size === 0 ? path : `${path}?${query}`;
}

/** Redirects after a form that signed a user in. */
export function goOn({ cookies, next }: Entered, way: Way): Response {
  return goTo(next ?? safeNext(way.next), cookies);
}

/**
 * Returns the origins besides HQ to which a form with this query may redirect. After a client's login the browser
 * continues at the client's own address, and browsers apply `form-action` to every redirect. The query is not verified
 * yet, so only a loopback address counts: other text would become part of the page's policy.
 */
export function formTargetsOf(query: string): string[] {
  const redirect = URL.parse(new URLSearchParams(query).get("redirect_uri") ?? "");
  if (redirect === null || !isLoopbackHost(redirect.hostname)) return [];
  // The URL standard lets a host contain `;` and `*`.
  return /^https?:\/\/[\w.:[\]-]+$/.test(redirect.origin) ? [redirect.origin] : [];
}

/** Props for {@link EntryCard}. */
export interface EntryCardProps {
  title: string;
  lead?: Child;
  /** The whole form's problem. */
  problem?: string;
  /** A line below the form. */
  below?: Child;
}

/** A page with a single form and no navigation. */
export function EntryCard({ title, lead, problem, below, children }: PropsWithChildren<EntryCardProps>): Html {
  return (
    <div class="card">
      <h1>{title}</h1>
      {lead && <p class="lead">{lead}</p>}
      {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
      {children}
      {below && <p class="beside">{below}</p>}
    </div>
  );
}
