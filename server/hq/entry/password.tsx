import type { Accounts } from "../../accounts/mod.ts";
import { EMPTY_FORM, type FormState, goTo, readForm, refuseForm, servePage, textOf } from "../page.tsx";
import type { HqApp, HqContext } from "../types.ts";
import { TextField } from "../ui/mod.ts";
import { EntryCard } from "./sign_in.tsx";

/** Adds the pages that reset a forgotten password. */
export function addPasswordReset(app: HqApp, { entry }: Accounts): void {
  app.get("/forgot", (context) => serveForgot(context, EMPTY_FORM, entry.sendsMail));
  app.post("/forgot", async (context) => {
    const fields = await readForm(context);
    try {
      await entry.forgot(context.env.exchange, { email: textOf(fields, "email") });
      return goTo("/forgot?done=sent");
    } catch (error) {
      return serveForgot(context, refuseForm(fields, error, ["email"]), entry.sendsMail);
    }
  });
  app.get("/reset", (context) => {
    return serveReset(context, { ...EMPTY_FORM, values: { token: context.req.query("token") ?? "" } });
  });
  app.post("/reset", async (context) => {
    const fields = await readForm(context);
    try {
      const form = { token: textOf(fields, "token"), password: textOf(fields, "password") };
      await entry.reset(context.env.exchange, form);
      return goTo("/sign-in?done=reset");
    } catch (error) {
      return serveReset(context, refuseForm(fields, error, ["password"]));
    }
  });
}

function serveForgot(context: HqContext, form: FormState, sendsMail: boolean): Response {
  const below = <a href="/sign-in">Back to signing in</a>;
  const content = context.req.query("done") === "sent"
    ? (
      <EntryCard
        title="Check your mail"
        lead="If a user has that address, a link is on its way. It expires in an hour."
        below={below}
      />
    )
    : !sendsMail
    ? (
      <EntryCard
        title="Forgot your password?"
        lead="This server sends no mail. Ask its operator for a link to set a new password."
        below={below}
      />
    )
    : (
      <EntryCard
        title="Forgot your password?"
        lead="We send you a link to set a new one."
        problem={form.problems.form}
        below={below}
      >
        <form method="post" action="/forgot" class="fields">
          <TextField
            label="Email"
            name="email"
            type="email"
            autocomplete="username"
            value={form.values.email}
            error={form.problems.email}
            required
            autofocus
          />
          <button type="submit" class="primary full">Send the link</button>
        </form>
      </EntryCard>
    );
  return servePage(context, { title: "Forgot your password?", shape: "narrow", status: form.status, content });
}

function serveReset(context: HqContext, form: FormState): Response {
  return servePage(context, {
    title: "Set a new password",
    shape: "narrow",
    status: form.status,
    content: (
      <EntryCard
        title="Set a new password"
        lead="This signs you out everywhere, including clients."
        problem={form.problems.form}
      >
        <form method="post" action="/reset" class="fields">
          <input type="hidden" name="token" value={form.values.token} />
          <TextField
            label="New password"
            name="password"
            type="password"
            autocomplete="new-password"
            hint="At least 8 characters."
            error={form.problems.password}
            minlength={8}
            maxlength={128}
            required
            autofocus
          />
          <button type="submit" class="primary full">Set the password</button>
        </form>
      </EntryCard>
    ),
  });
}
