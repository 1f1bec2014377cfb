import type { Accounts } from "../../accounts/mod.ts";
import { EMPTY_FORM, type FormState, readForm, refuseForm, textOf } from "../form.ts";
import { doneNotice, goTo, safeNext, servePage } from "../page.tsx";
import type { HqApp, HqContext } from "../types.ts";
import { type Html, TextField } from "../ui/mod.ts";
import { EntryCard } from "./card.tsx";
import { entryUrl, formTargetsOf, goOn, readWay, type Way, wayOfForm } from "./ways.ts";

const DONE = {
  reset: "Your password is changed. Sign in with the new one.",
  "signed-out": "You are signed out.",
};

/** Signing in and out. */
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

/** What a function of an entry is told of the client's login. */
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

/** A {@link Way} inside a form. */
export function WayFields({ way }: { way: Way }): Html {
  return (
    <>
      {Object.entries(way).filter(([, value]) => value !== "").map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
    </>
  );
}
