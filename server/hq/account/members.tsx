import type { Accounts } from "../../accounts/mod.ts";
import { EMPTY_FORM, type FormState, goTo, readForm, refuseForm, requireViewer, textOf } from "../page.tsx";
import type { HqApp, HqContext } from "../types.ts";
import { serveAccountPage } from "./frame.tsx";
import { MembersContent, readRole } from "./members_content.tsx";

/** Adds the page with members and invitations. */
export function addMembers(app: HqApp, accounts: Accounts): void {
  app.get("/account", (context) => serveMembers(accounts, context));
  addInvitationForms(app, accounts);
  addMemberForms(app, accounts);
  addAccountForms(app, accounts);
}

async function serveMembers(
  { members }: Accounts,
  context: HqContext,
  form: FormState = EMPTY_FORM,
): Promise<Response> {
  const viewer = requireViewer(context);
  const isManager = viewer.account.role !== "member";
  const [list, invitations] = await Promise.all([
    members.list(viewer),
    isManager ? members.invitations(viewer) : [],
  ]);
  return serveAccountPage(context, {
    path: "/account",
    title: "Account",
    problem: form.problems.form,
    status: form.status,
    content: <MembersContent {...{ viewer, list, invitations, form, asked: context.req.query("ask") }} />,
  });
}

/**
 * Performs a form's action, and shows the page again with the problem when it fails.
 * @param names fields that show their own problem
 * @param action returns the message code for `?done=`
 */
async function act(
  accounts: Accounts,
  context: HqContext,
  names: readonly string[],
  action: (fields: URLSearchParams) => Promise<string>,
): Promise<Response> {
  requireViewer(context);
  const fields = await readForm(context);
  try {
    return goTo(`/account?done=${await action(fields)}`);
  } catch (error) {
    return await serveMembers(accounts, context, refuseForm(fields, error, names));
  }
}

function addInvitationForms(app: HqApp, accounts: Accounts): void {
  const { members, entry } = accounts;
  app.post("/account/invite", (context) =>
    act(accounts, context, ["email", "role"], async (fields) => {
      const form = { email: textOf(fields, "email"), role: readRole(fields) };
      const { mailed } = await members.invite(context.env.exchange, form);
      return mailed && entry.sendsMail ? "invited" : "invitation-made";
    }));
  app.post("/account/invitations/:id/cancel", (context) =>
    act(accounts, context, [], async () => {
      await members.cancelInvitation(context.env.exchange, context.req.param("id"));
      return "cancelled";
    }));
}

function addMemberForms(app: HqApp, accounts: Accounts): void {
  const { members } = accounts;
  app.post("/account/members/:id/role", (context) =>
    act(accounts, context, [], async (fields) => {
      await members.setRole(context.env.exchange, context.req.param("id"), readRole(fields));
      return "role";
    }));
  app.post("/account/members/:id/remove", (context) =>
    act(accounts, context, [], async () => {
      await members.remove(context.env.exchange, context.req.param("id"));
      return "removed";
    }));
}

function addAccountForms(app: HqApp, accounts: Accounts): void {
  const { members } = accounts;
  app.post("/account/rename", (context) =>
    act(accounts, context, ["name"], async (fields) => {
      await members.rename(context.env.exchange, { name: textOf(fields, "name") });
      return "renamed";
    }));
  app.post("/account/new", (context) =>
    act(accounts, context, ["new_name"], async (fields) => {
      const { id } = await members.createAccount(context.env.exchange, { name: textOf(fields, "new_name") });
      await members.switchAccount(context.env.exchange, id);
      return "created";
    }));
  app.post("/account/switch", (context) =>
    act(accounts, context, [], async (fields) => {
      await members.switchAccount(context.env.exchange, textOf(fields, "account"));
      return "switched";
    }));
}
