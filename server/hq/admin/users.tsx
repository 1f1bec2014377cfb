import type { Accounts, SignUpPolicy, UserInfo } from "../../accounts/mod.ts";
import { EMPTY_FORM, type FormState, goTo, readForm, refuseForm, textOf } from "../page.tsx";
import type { HqApp, HqContext, Viewer } from "../types.ts";
import {
  ActionButton,
  AskButton,
  AskDialog,
  Badge,
  CopyText,
  EmptyState,
  type Html,
  Notice,
  Pagination,
  Panel,
  Table,
  Time,
} from "../ui/mod.ts";
import { pagesOf, readListQuery, requireAdmin, SearchForm, serveAdminPage } from "./frame.tsx";

/** Adds the user page, with plans, suspensions and admin rights. */
export function addUsers(app: HqApp, accounts: Accounts): void {
  const { admin } = accounts;
  app.get("/admin", (context) => serveUsers(accounts, context));
  app.post("/admin/accounts/:id/plan", (context) =>
    act(accounts, context, async (viewer, fields) => {
      const plan = fields.get("plan") === "paid" ? "paid" : "free";
      await admin.setPlan(viewer, context.req.param("id"), plan);
      return "plan";
    }));
  app.post("/admin/users/:id/suspended", (context) =>
    act(accounts, context, async (viewer, fields) => {
      const isSuspended = textOf(fields, "suspended") === "yes";
      await admin.setSuspended(viewer, context.req.param("id"), isSuspended);
      return isSuspended ? "suspended" : "restored";
    }));
  app.post("/admin/users/:id/admin", (context) =>
    act(accounts, context, async (viewer, fields) => {
      await admin.setAdmin(viewer, context.req.param("id"), textOf(fields, "admin") === "yes");
      return "admin";
    }));
  app.post("/admin/users/:id/reset-link", async (context) => {
    const viewer = requireAdmin(context);
    // This response shows the link and nothing stores it, because it grants access to the user.
    return await serveUsers(
      accounts,
      context,
      EMPTY_FORM,
      await admin.createResetLink(viewer, context.req.param("id")),
    );
  });
}

async function serveUsers(
  { admin, entry }: Accounts,
  context: HqContext,
  form: FormState = EMPTY_FORM,
  link?: string,
): Promise<Response> {
  const viewer = requireAdmin(context);
  const query = readListQuery(context);
  const { users, total } = await admin.users(viewer, query);
  return serveAdminPage(context, {
    path: "/admin",
    title: "Users",
    problem: form.problems.form,
    status: form.status,
    content: (
      <>
        {link !== undefined && <ResetLink link={link} />}
        <UserList {...{ users, total, query, viewer, policy: entry.policy, asked: context.req.query("ask") }} />
      </>
    ),
  });
}

/** @param action returns the message code for `?done=` */
async function act(
  accounts: Accounts,
  context: HqContext,
  action: (viewer: Viewer, fields: URLSearchParams) => Promise<string>,
): Promise<Response> {
  const viewer = requireAdmin(context);
  const fields = await readForm(context);
  try {
    return goTo(`/admin?done=${await action(viewer, fields)}`);
  } catch (error) {
    return await serveUsers(accounts, context, refuseForm(fields, error));
  }
}

const POLICIES: Readonly<Record<SignUpPolicy, string>> = {
  open: "Anybody can sign up.",
  invitation: "Whoever was invited can sign up.",
  closed: "Nobody can sign up.",
};

function ResetLink({ link }: { link: string }): Html {
  return (
    <Notice tone="good">
      <p>
        <b>A link to set a new password.</b> It expires in a day and is not shown again.
      </p>
      <CopyText text={link} label="the link" block />
    </Notice>
  );
}

interface UserListProps {
  users: readonly UserInfo[];
  total: number;
  query: { search: string; page: number };
  viewer: Viewer;
  policy: SignUpPolicy;
  asked?: string;
}

function UserList({ users, total, query, viewer, policy, asked }: UserListProps): Html {
  return (
    <>
      <Panel
        title={`${total} ${total === 1 ? "user" : "users"}`}
        about={
          <>
            {POLICIES[policy]} <code>PORTWAY_SIGNUP={policy}</code>
          </>
        }
        actions={<SearchForm action="/admin" label="Search users" value={query.search} />}
        flush
      >
        {users.length === 0
          ? <EmptyState icon="account" title="No users found">No name or address contains “{query.search}”.</EmptyState>
          : <UserTable users={users} viewer={viewer} />}
      </Panel>
      <Pagination {...pagesOf("/admin", query, total)} />
      {users.filter(({ id, isSuspended }) => id !== viewer.user.id && !isSuspended).map(({ id, name }) => (
        <AskDialog
          key={id}
          id={`suspend-${id}`}
          title={`Suspend ${name}?`}
          action={`/admin/users/${encodeURIComponent(id)}/suspended`}
          values={{ suspended: "yes" }}
          confirm="Suspend"
          page="/admin"
          asked={asked}
        >
          <p>Their sessions, clients and tunnels end at once, and they cannot sign in until you lift the suspension.</p>
        </AskDialog>
      ))}
    </>
  );
}

function UserTable({ users, viewer }: { users: readonly UserInfo[]; viewer: Viewer }): Html {
  return (
    <Table
      caption="Users"
      rows={users}
      keyOf={({ id }) => id}
      columns={[
        {
          head: "User",
          cell: ({ name, email, isAdmin, isSuspended }) => (
            <>
              <b>{name}</b> {isAdmin && <Badge tone="accent">admin</Badge>}{" "}
              {isSuspended && <Badge tone="bad">suspended</Badge>}
              <small>{email}</small>
            </>
          ),
        },
        {
          head: "Accounts",
          cell: ({ accounts }) => (
            <ul class="plans">
              {accounts.map((account) => <PlanForm key={account.id} {...account} />)}
            </ul>
          ),
        },
        { head: "Since", cell: ({ createdAt }) => <Time ms={createdAt} />, minor: true },
        { head: "Actions", isHeadHidden: true, cell: (user) => <UserActions user={user} viewer={viewer} /> },
      ]}
    />
  );
}

function PlanForm({ id, name, plan, role }: UserInfo["accounts"][number]): Html {
  return (
    <li>
      <span>
        {name}
        <small>{role}</small>
      </span>
      <form method="post" action={`/admin/accounts/${encodeURIComponent(id)}/plan`} class="role">
        <select name="plan" aria-label={`Plan of ${name}`}>
          {["free", "paid"].map((one) => <option key={one} value={one} selected={one === plan}>{one}</option>)}
        </select>
        <button type="submit" class="button small" aria-label={`Set the plan of ${name}`}>Set</button>
      </form>
    </li>
  );
}

function UserActions({ user, viewer }: { user: UserInfo; viewer: Viewer }): Html | null {
  const { id, name, isAdmin, isSuspended } = user;
  if (id === viewer.user.id) return <div class="actions">this is you</div>;
  const path = `/admin/users/${encodeURIComponent(id)}`;
  return (
    <div class="actions">
      <ActionButton action={`${path}/reset-link`} class="button small" label={`Reset link for ${name}`}>
        Reset link
      </ActionButton>
      <ActionButton
        action={`${path}/admin`}
        values={{ admin: isAdmin ? "no" : "yes" }}
        class="button small"
        label={isAdmin ? `No admin: ${name}` : `Make admin: ${name}`}
      >
        {isAdmin ? "No admin" : "Make admin"}
      </ActionButton>
      {isSuspended
        ? (
          <ActionButton
            action={`${path}/suspended`}
            values={{ suspended: "no" }}
            class="button small"
            label={`Let in again: ${name}`}
          >
            Let in again
          </ActionButton>
        )
        : (
          <AskButton page="/admin" dialog={`suspend-${id}`} class="button small risky" label={`Suspend ${name}`}>
            Suspend
          </AskButton>
        )}
    </div>
  );
}
