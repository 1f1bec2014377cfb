import type { Accounts, AuthorizedClient, TokenInfo } from "../../accounts/mod.ts";
import { type Scope, SCOPES } from "../../access/mod.ts";
import { EMPTY_FORM, type FormState, goTo, readForm, refuseForm, requireViewer, textOf } from "../page.tsx";
import type { HqApp, HqContext } from "../types.ts";
import {
  AskButton,
  AskDialog,
  CheckField,
  CopyText,
  EmptyState,
  FieldSet,
  type Html,
  Notice,
  Panel,
  SelectField,
  Table,
  TextField,
  Time,
} from "../ui/mod.ts";
import { serveAccountPage } from "./frame.tsx";

/** Adds the pages about clients and tokens that act for a user. */
export function addClients(app: HqApp, { clients }: Accounts): void {
  app.get("/account/clients", async (context) => {
    const list = await clients.list(requireViewer(context));
    return serveAccountPage(context, {
      path: "/account/clients",
      title: "Clients",
      content: <ClientList list={list} asked={context.req.query("ask")} />,
    });
  });
  app.post("/account/clients/:id/revoke", async (context) => {
    await clients.revoke(requireViewer(context), context.req.param("id"));
    return goTo("/account/clients?done=revoked");
  });
  addTokens(app, clients);
}

function addTokens(app: HqApp, clients: Accounts["clients"]): void {
  const serve = async (context: HqContext, form: FormState, made?: string) => {
    const list = await clients.tokens(requireViewer(context));
    return serveAccountPage(context, {
      path: "/account/tokens",
      title: "Tokens",
      problem: form.problems.form,
      status: form.status,
      content: <TokenContent {...{ list, form, made }} asked={context.req.query("ask")} />,
    });
  };
  app.get("/account/tokens", (context) => serve(context, EMPTY_FORM));
  app.post("/account/tokens", async (context) => {
    const viewer = requireViewer(context);
    const fields = await readForm(context);
    try {
      const scopes = fields.getAll("scope").filter(isScope);
      const days = fields.get("days");
      const form = { name: textOf(fields, "name"), scopes, days: days === "never" ? null : Number(days) };
      const { token } = await clients.createToken(viewer, form);
      // This response shows the token. A redirect would have to store it.
      return await serve(context, EMPTY_FORM, token);
    } catch (error) {
      const state = refuseForm(fields, error, ["name", "scopes", "days"]);
      return await serve(context, { ...state, values: { ...state.values, scopes: fields.getAll("scope").join(" ") } });
    }
  });
  app.post("/account/tokens/:id/revoke", async (context) => {
    await clients.revokeToken(requireViewer(context), context.req.param("id"));
    return goTo("/account/tokens?done=revoked");
  });
}

function isScope(text: string): text is Scope {
  return Object.hasOwn(SCOPES, text);
}

function ClientList({ list, asked }: { list: readonly AuthorizedClient[]; asked?: string }): Html {
  if (list.length === 0) {
    return (
      <Panel>
        <EmptyState icon="device" title="No clients yet">
          Run <code>portway --login</code> on a machine, and it appears here.
        </EmptyState>
      </Panel>
    );
  }
  return (
    <Panel title="Authorized clients" about="Each is one login on one machine. Revoking one ends its tunnels." flush>
      <Table
        caption="Authorized clients"
        rows={list}
        keyOf={({ id }) =>
          id}
        columns={[
          {
            head: "Client",
            cell: ({ client, account }) => (
              <>
                <b>{client}</b>
                <small>for {account}</small>
              </>
            ),
          },
          { head: "May", cell: ({ scopes }) => <ScopeWords scopes={scopes} /> },
          { head: "Last used", cell: ({ usedAt }) => <Time ms={usedAt} /> },
          { head: "Until", cell: ({ expiresAt }) => <Time ms={expiresAt} />, minor: true },
        ]}
        actions={({ id, client }) => (
          <AskButton
            dialog={dialogId(id)}
            page="/account/clients"
            class="button small risky"
            label={`Revoke ${client}`}
          >
            Revoke
          </AskButton>
        )}
      />
      {list.map(({ id, client, account }) => (
        <AskDialog
          key={id}
          id={dialogId(id)}
          page="/account/clients"
          title={`Revoke ${client}?`}
          action={`/account/clients/${encodeURIComponent(id)}/revoke`}
          confirm="Revoke"
          asked={asked}
        >
          <p>
            Its tunnels for {account}{" "}
            end at once, and it must log in again. Visitors of those tunnels lose their connection.
          </p>
        </AskDialog>
      ))}
    </Panel>
  );
}

const dialogId = (id: string): string => `revoke-${id.replace(/[^\w-]/g, "_")}`;

/** Scopes in words. Scopes that this version does not know are left out. */
function ScopeWords({ scopes }: { scopes: readonly string[] }): Html {
  const known = scopes.filter(isScope);
  return (
    <ul class="words-list">
      {known.map((scope) => <li key={scope}>{SCOPES[scope]}</li>)}
    </ul>
  );
}

interface TokenContentProps {
  list: readonly TokenInfo[];
  form: FormState;
  /** A token that was just created. */
  made?: string;
  /** The dialog that the page's address opens. */
  asked?: string;
}

function TokenContent({ list, form, made, asked }: TokenContentProps): Html {
  return (
    <>
      {made !== undefined && (
        <Notice tone="good">
          <p>
            <b>Your new token.</b> Copy it now: it is not shown again.
          </p>
          <CopyText text={made} label="the token" block />
        </Notice>
      )}
      <Panel
        title="Tokens"
        about="For machines without a person, such as CI: set one as PORTWAY_TOKEN."
        flush={list.length > 0}
      >
        {list.length === 0 ? <p class="under">There are none.</p> : <TokenTable list={list} asked={asked} />}
      </Panel>
      <TokenForm form={form} />
    </>
  );
}

function TokenTable({ list, asked }: { list: readonly TokenInfo[]; asked?: string }): Html {
  return (
    <>
      <Table
        caption="Tokens"
        rows={list}
        keyOf={({ id }) => id}
        columns={[
          {
            head: "Name",
            cell: ({ name, account }) => (
              <>
                <b>{name}</b>
                <small>for {account}</small>
              </>
            ),
          },
          { head: "May", cell: ({ scopes }) => <ScopeWords scopes={scopes} /> },
          { head: "Last used", cell: ({ usedAt }) => usedAt === null ? "never" : <Time ms={usedAt} /> },
          { head: "Until", cell: ({ expiresAt }) => expiresAt === null ? "it is revoked" : <Time ms={expiresAt} /> },
        ]}
        actions={({ id, name }) => (
          <AskButton dialog={dialogId(id)} page="/account/tokens" class="button small risky" label={`Revoke ${name}`}>
            Revoke
          </AskButton>
        )}
      />
      {list.map(({ id, name }) => (
        <AskDialog
          key={id}
          id={dialogId(id)}
          page="/account/tokens"
          title={`Revoke ${name}?`}
          action={`/account/tokens/${encodeURIComponent(id)}/revoke`}
          confirm="Revoke"
          asked={asked}
        >
          <p>Programs that use it lose access at once, and their tunnels end.</p>
        </AskDialog>
      ))}
    </>
  );
}

const LIFETIMES = [
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "1 year" },
  { value: "never", label: "until it is revoked" },
];

function TokenForm({ form: { values, problems } }: { form: FormState }): Html {
  const ticked = values.scopes?.split(" ") ?? ["tunnels:use"];
  return (
    <Panel title="New token">
      <form method="post" action="/account/tokens" class="fields form-width">
        <TextField
          label="Name"
          name="name"
          value={values.name}
          error={problems.name}
          hint="Helps you recognise it later."
          maxlength={100}
          autocomplete="off"
          required
        />
        <FieldSet legend="It may" error={problems.scopes}>
          {Object.entries(SCOPES).map(([scope, words]) => (
            <CheckField
              key={scope}
              name="scope"
              value={scope}
              label={words}
              hint={scope}
              checked={ticked.includes(scope)}
            />
          ))}
        </FieldSet>
        <SelectField
          label="Good for"
          name="days"
          value={values.days ?? "90"}
          error={problems.days}
          options={LIFETIMES}
        />
        <div>
          <button type="submit" class="primary">Create the token</button>
        </div>
      </form>
    </Panel>
  );
}
