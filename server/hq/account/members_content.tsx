import type { Role } from "../../access/mod.ts";
import type { Invitation, Member } from "../../accounts/mod.ts";
import type { FormState } from "../page.tsx";
import type { Viewer } from "../types.ts";
import {
  ActionButton,
  AskButton,
  AskDialog,
  Badge,
  CopyText,
  type Html,
  Panel,
  SelectField,
  Table,
  TextField,
  Time,
} from "../ui/mod.ts";

const ROLES: readonly { value: Role; label: string }[] = [
  { value: "member", label: "Member: uses tunnels and views" },
  { value: "admin", label: "Admin: manages members too" },
  { value: "owner", label: "Owner: everything" },
];

/** Returns the role that a form names; the least powerful role for an unknown one. */
export function readRole(fields: URLSearchParams): Role {
  return ROLES.find(({ value }) => value === fields.get("role"))?.value ?? "member";
}

/** Props for {@link MembersContent}. */
export interface MembersProps {
  viewer: Viewer;
  list: readonly Member[];
  invitations: readonly Invitation[];
  form: FormState;
  asked?: string;
}

/** An account's members and invitations, with the forms that change them. */
export function MembersContent({ viewer, list, invitations, form, asked }: MembersProps): Html {
  const isManager = viewer.account.role !== "member";
  return (
    <>
      <Panel title="Members" about="They share the tunnels and views of this account." flush>
        <MemberTable {...{ viewer, list, isManager }} />
      </Panel>
      {isManager && invitations.length > 0 && (
        <Panel title="Invitations" about="Each link works for one person, at that address." flush>
          <InvitationTable invitations={invitations} />
        </Panel>
      )}
      <div class="columns">
        {isManager && <InviteForm form={form} />}
        <div>
          {isManager && <RenameForm name={viewer.account.name} form={form} />}
          <NewAccountForm form={form} />
        </div>
      </div>
      {list.map((member) => <RemoveDialog key={member.id} {...{ member, viewer, asked }} />)}
    </>
  );
}

function MemberTable(
  { viewer, list, isManager }: { viewer: Viewer; list: readonly Member[]; isManager: boolean },
): Html {
  return (
    <Table
      caption="Members"
      rows={list}
      keyOf={({ id }) => id}
      columns={[
        {
          head: "Name",
          cell: ({ name, email, userId }) => (
            <>
              <b>{name}</b> {userId === viewer.user.id && <Badge>you</Badge>}
              <small>{email}</small>
            </>
          ),
        },
        { head: "Role", cell: (member) => isManager ? <RoleForm member={member} /> : member.role },
      ]}
      actions={({ id, name, userId }) => {
        const isSelf = userId === viewer.user.id;
        return isManager || isSelf
          ? (
            <AskButton
              page="/account"
              dialog={`remove-${id}`}
              class="button small risky"
              label={isSelf ? "Leave" : `Remove ${name}`}
            >
              {isSelf ? "Leave" : "Remove"}
            </AskButton>
          )
          : null;
      }}
    />
  );
}

function RoleForm({ member: { id, name, role } }: { member: Member }): Html {
  return (
    <form method="post" action={`/account/members/${encodeURIComponent(id)}/role`} class="role">
      <select name="role" aria-label={`Role of ${name}`}>
        {ROLES.map(({ value }) => <option key={value} value={value} selected={value === role}>{value}</option>)}
      </select>
      <button type="submit" class="button small">Set</button>
    </form>
  );
}

function InvitationTable({ invitations }: { invitations: readonly Invitation[] }): Html {
  return (
    <Table
      caption="Invitations"
      rows={invitations}
      keyOf={({ id }) => id}
      columns={[
        {
          head: "For",
          cell: ({ email, role }) => (
            <>
              <b>{email}</b>
              <small>{role}</small>
            </>
          ),
        },
        { head: "Good until", cell: ({ expiresAt }) => <Time ms={expiresAt} /> },
        { head: "Link", cell: ({ url, email }) => <CopyText text={url} label={`the link for ${email}`} /> },
      ]}
      actions={({ id, email }) => (
        <ActionButton
          action={`/account/invitations/${encodeURIComponent(id)}/cancel`}
          class="button small"
          label={`Take back the invitation of ${email}`}
        >
          Take back
        </ActionButton>
      )}
    />
  );
}

function InviteForm({ form: { values, problems } }: { form: FormState }): Html {
  return (
    <Panel title="Invite somebody" id="invite">
      <form method="post" action="/account/invite" class="fields">
        <TextField
          label="Email"
          name="email"
          type="email"
          value={values.email}
          error={problems.email}
          autocomplete="off"
          required
        />
        <SelectField label="Role" name="role" value={values.role ?? "member"} error={problems.role} options={ROLES} />
        <div>
          <button type="submit" class="primary">Invite</button>
        </div>
      </form>
    </Panel>
  );
}

function RenameForm({ name, form: { values, problems } }: { name: string; form: FormState }): Html {
  return (
    <Panel title="Name of the account">
      <form method="post" action="/account/rename" class="fields">
        <TextField
          label="Name"
          name="name"
          value={values.name ?? name}
          error={problems.name}
          maxlength={100}
          autocomplete="off"
          required
        />
        <div>
          <button type="submit" class="button">Rename</button>
        </div>
      </form>
    </Panel>
  );
}

function NewAccountForm({ form: { values, problems } }: { form: FormState }): Html {
  return (
    <Panel title="Another account" about="With its own members, tunnels and views.">
      <form method="post" action="/account/new" class="fields">
        <TextField
          label="Name of the new account"
          name="new_name"
          value={values.new_name}
          error={problems.new_name}
          maxlength={100}
          autocomplete="off"
          required
        />
        <div>
          <button type="submit" class="button">Create</button>
        </div>
      </form>
    </Panel>
  );
}

function RemoveDialog({ member, viewer, asked }: { member: Member; viewer: Viewer; asked?: string }): Html {
  const isSelf = member.userId === viewer.user.id;
  return (
    <AskDialog
      id={`remove-${member.id}`}
      title={isSelf ? `Leave ${viewer.account.name}?` : `Remove ${member.name}?`}
      action={`/account/members/${encodeURIComponent(member.id)}/remove`}
      confirm={isSelf ? "Leave" : "Remove"}
      page="/account"
      asked={asked}
    >
      <p>
        {isSelf ? "Your" : "Their"}{" "}
        clients and tokens lose their access to this account at once. What they made in it stays.
      </p>
    </AskDialog>
  );
}
