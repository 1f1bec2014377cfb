import type { Accounts, BrowserSession } from "../../accounts/mod.ts";
import { EMPTY_FORM, type FormState, goTo, readForm, refuseForm, requireViewer, textOf } from "../page.tsx";
import type { HqApp, HqContext } from "../types.ts";
import { ActionButton, Badge, type Html, Panel, Table, TextField, Time } from "../ui/mod.ts";
import { browserOf } from "./browser_name.ts";
import { serveAccountPage } from "./frame.tsx";

/** Adds the page with the password and the signed-in browsers. */
export function addSecurity(app: HqApp, { entry, sessions }: Accounts): void {
  const serve = async (context: HqContext, form: FormState) => {
    const { user } = requireViewer(context);
    const list = await sessions.list(context.env.exchange);
    return serveAccountPage(context, {
      path: "/account/security",
      title: "Security",
      status: form.status,
      problem: form.problems.form,
      content: (
        <>
          <SessionPanel list={list} />
          <PasswordForm email={user.email} form={form} />
        </>
      ),
    });
  };
  app.get("/account/security", (context) => serve(context, EMPTY_FORM));
  app.post("/account/security", async (context) => {
    requireViewer(context);
    const fields = await readForm(context);
    try {
      const form = { current: textOf(fields, "current"), password: textOf(fields, "password") };
      const { cookies } = await entry.changePassword(context.env.exchange, form);
      return goTo("/account/security?done=password", cookies);
    } catch (error) {
      return await serve(context, refuseForm(fields, error, ["current", "password"]));
    }
  });
  app.post("/account/sessions/:id/end", async (context) => {
    requireViewer(context);
    await sessions.end(context.env.exchange, context.req.param("id"));
    return goTo("/account/security?done=session-ended");
  });
}

function SessionPanel({ list }: { list: readonly BrowserSession[] }): Html {
  return (
    <Panel title="Sessions" about="Browsers in which you are signed in." flush>
      <Table
        caption="Sessions"
        rows={list}
        keyOf={({ id }) => id}
        columns={[
          {
            head: "Browser",
            cell: ({ userAgent, isCurrent }) => (
              <>
                <b>{browserOf(userAgent)}</b> {isCurrent && <Badge tone="good">this one</Badge>}
              </>
            ),
          },
          { head: "Address", cell: ({ address }) => address === "" ? "not known" : address },
          { head: "Since", cell: ({ createdAt }) => <Time ms={createdAt} /> },
        ]}
        actions={({ id, userAgent, isCurrent }) =>
          !isCurrent && (
            <ActionButton
              action={`/account/sessions/${encodeURIComponent(id)}/end`}
              class="button small risky"
              label={`Sign out ${browserOf(userAgent)}`}
            >
              Sign out
            </ActionButton>
          )}
      />
    </Panel>
  );
}

function PasswordForm({ email, form: { problems } }: { email: string; form: FormState }): Html {
  return (
    <Panel title="Password" about="Changing it ends all other sessions, and the access of all clients.">
      <form method="post" action="/account/security" class="fields narrow-form">
        <input type="text" name="username" autocomplete="username" value={email} hidden readonly />
        <TextField
          label="Current password"
          name="current"
          type="password"
          autocomplete="current-password"
          error={problems.current}
          required
        />
        <TextField
          label="New password"
          name="password"
          type="password"
          autocomplete="new-password"
          hint="At least 8 characters."
          error={problems.password}
          minlength={8}
          maxlength={128}
          required
        />
        <div>
          <button type="submit" class="primary">Change the password</button>
        </div>
      </form>
    </Panel>
  );
}
