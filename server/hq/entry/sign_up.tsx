import type { Accounts } from "../../accounts/mod.ts";
import { EMPTY_FORM, type FormState, goTo, readForm, refuseForm, servePage, textOf } from "../page.tsx";
import type { HqApp, HqContext } from "../types.ts";
import { type Html, TextField } from "../ui/mod.ts";
import {
  EntryCard,
  entryUrl,
  formTargetsOf,
  goOn,
  oauthOf,
  readWay,
  type Way,
  WayFields,
  wayOfForm,
} from "./sign_in.tsx";

/** Adds the pages that create a user: open sign-up, invitations and the first admin. */
export function addSignUp(app: HqApp, accounts: Accounts): void {
  addOpenSignUp(app, accounts);
  addSetUp(app, accounts);
}

function addOpenSignUp(app: HqApp, { entry, members }: Accounts): void {
  app.get("/sign-up", async (context) => {
    const way = readWay(context.req.url);
    const found = way.invitation === "" ? null : await members.findInvitation(way.invitation);
    if (entry.policy !== "open" && found === null) return serveNoSignUp(context, entry.policy === "invitation");
    const form = found === null ? EMPTY_FORM : { ...EMPTY_FORM, values: { email: found.email } };
    return serveSignUp(context, way, form, found?.account);
  });
  app.post("/sign-up", async (context) => {
    const fields = await readForm(context);
    const way = wayOfForm(fields);
    try {
      const invitation = way.invitation === "" ? {} : { invitationId: way.invitation };
      const form = { ...readPerson(fields), ...invitation, ...oauthOf(way) };
      return goOn(await entry.signUp(context.env.exchange, form), way);
    } catch (error) {
      return serveSignUp(context, way, refuseForm(fields, error, PERSON_FIELDS));
    }
  });
}

function addSetUp(app: HqApp, { entry }: Accounts): void {
  app.get("/setup", async (context) => {
    if (!await entry.needsSetUp()) return goTo("/sign-in");
    const token = context.req.query("token") ?? "";
    return serveSetUp(context, { ...EMPTY_FORM, values: { token } });
  });
  app.post("/setup", async (context) => {
    const fields = await readForm(context);
    try {
      const form = { ...readPerson(fields), token: textOf(fields, "token") };
      return goTo("/tunnels", (await entry.setUp(context.env.exchange, form)).cookies);
    } catch (error) {
      return serveSetUp(context, refuseForm(fields, error, PERSON_FIELDS));
    }
  });
}

const PERSON_FIELDS = ["name", "email", "password"];

function readPerson(fields: URLSearchParams): { name: string; email: string; password: string } {
  return { name: textOf(fields, "name"), email: textOf(fields, "email"), password: textOf(fields, "password") };
}

function serveSignUp(context: HqContext, way: Way, form: FormState, account?: string): Response {
  return servePage(context, {
    title: "Create an account",
    shape: "narrow",
    status: form.status,
    formTargets: formTargetsOf(way.oauth),
    content: (
      <EntryCard
        title="Create an account"
        lead={account === undefined
          ? "For persistent tunnels, and for request views."
          : `You will join ${account} with it.`}
        problem={form.problems.form}
        below={
          <>
            Have one? <a href={entryUrl("/sign-in", way)}>Sign in</a>
          </>
        }
      >
        <form method="post" action="/sign-up" class="fields">
          <WayFields way={way} />
          <PersonFields form={form} />
          <button type="submit" class="primary full">Create the account</button>
        </form>
      </EntryCard>
    ),
  });
}

function serveSetUp(context: HqContext, form: FormState): Response {
  return servePage(context, {
    title: "Set up",
    shape: "narrow",
    status: form.status,
    content: (
      <EntryCard
        title="Set up this server"
        lead="This creates the first user, who administers the server."
        problem={form.problems.form}
      >
        <form method="post" action="/setup" class="fields">
          <input type="hidden" name="token" value={form.values.token} />
          <PersonFields form={form} />
          <button type="submit" class="primary full">Create the first user</button>
        </form>
      </EntryCard>
    ),
  });
}

function serveNoSignUp(context: HqContext, byInvitation: boolean): Response {
  return servePage(context, {
    title: "No sign-up",
    shape: "narrow",
    status: 403,
    content: (
      <EntryCard
        title={byInvitation ? "You need an invitation" : "Sign-up is closed"}
        lead={byInvitation
          ? "Nobody can sign up here by themselves. Ask a member of the account that you want to join for an invitation."
          : "Whoever runs this server takes no new users. Tunnels without an account are open to you."}
      >
        <a class="button" href="/sign-in">Sign in instead</a>
      </EntryCard>
    ),
  });
}

function PersonFields({ form: { values, problems } }: { form: FormState }): Html {
  return (
    <>
      <TextField
        label="Name"
        name="name"
        autocomplete="name"
        value={values.name}
        error={problems.name}
        maxlength={100}
        required
        autofocus
      />
      <TextField
        label="Email"
        name="email"
        type="email"
        autocomplete="username"
        value={values.email}
        error={problems.email}
        required
      />
      <TextField
        label="Password"
        name="password"
        type="password"
        autocomplete="new-password"
        hint="At least 8 characters. A few words are easier to remember and harder to guess."
        error={problems.password}
        minlength={8}
        maxlength={128}
        required
      />
    </>
  );
}
