import type { AuthorizationRequest } from "../../accounts/mod.ts";
import type { Viewer } from "../types.ts";
import { CheckField, FieldSet, type Html, Icon } from "../ui/mod.ts";

/** Props for {@link ConsentCard}. */
export interface ConsentCardProps {
  /** The form's target. */
  action: string;
  request: AuthorizationRequest;
  viewer: Viewer;
  /** Hidden fields. */
  values: Readonly<Record<string, string>>;
}

/** The question whether a client gets access to an account. */
export function ConsentCard({ action, request, viewer, values }: ConsentCardProps): Html {
  const { client, scopes } = request;
  const { user, account, accounts } = viewer;
  return (
    <div class="card wide">
      <h1>Authorize {client}?</h1>
      <p class="lead">
        {client} wants to use the account <b>{account.name}</b> as {user.name} ({user.email}).
      </p>
      <h2 class="asked">It will be able to</h2>
      <ul class="scopes">
        {scopes.map(({ scope, words }) => (
          <li key={scope}>
            <Icon name="check" />
            <span>{words}</span>
          </li>
        ))}
        <li>
          <Icon name="check" />
          <span>see your name, your email address and the names of your accounts</span>
        </li>
      </ul>
      <form method="post" action={action} class="fields">
        {Object.entries(values).map(([name, value]) => <input key={name} type="hidden" name={name} value={value} />)}
        {accounts.length > 1 && (
          <FieldSet legend="For which account">
            {accounts.map(({ id, name, plan }) => (
              <CheckField
                key={id}
                name="account"
                value={id}
                label={name}
                hint={plan === "paid" ? "paid plan" : "free plan, without persistent tunnels"}
                checked={id === account.id}
                isRadio
              />
            ))}
          </FieldSet>
        )}
        <div class="buttons full">
          <button type="submit" class="button" name="answer" value="deny">Deny</button>
          <button type="submit" class="primary" name="answer" value="authorize">Authorize</button>
        </div>
      </form>
      <p class="beside">Continue only if you started this yourself. You can revoke it at any time.</p>
    </div>
  );
}

/** Reads a consent form's decision. Only a clear yes accepts. */
export function readResponse(fields: URLSearchParams): { accept: boolean; accountId?: string } {
  const accountId = fields.get("account");
  return { accept: fields.get("answer") === "authorize", ...(accountId !== null && { accountId }) };
}
