import type { Authenticate, Principal, Scope } from "../../server/access/mod.ts";
import { SCOPES } from "../../server/access/mod.ts";
import { HttpError } from "../../common/http_error.ts";

/** Somebody whose token is their name. */
export interface Member {
  plan: "free" | "paid";
  scopes: Scope[];
  suspended: boolean;
  accountId: string;
}

/** Accounts made up by a test: a Bearer token is the name of a member. */
export class Members {
  readonly all = new Map<string, Member>();

  add(name: string, some: Partial<Member> = {}): Member {
    const scopes = Object.keys(SCOPES) as Scope[];
    const member: Member = { plan: "paid", scopes, suspended: false, accountId: `account-of-${name}`, ...some };
    this.all.set(name, member);
    return member;
  }

  readonly authenticate: Authenticate = (exchange) => {
    const name = /^Bearer (.*)$/.exec(exchange.header("authorization") ?? "")?.[1];
    if (name === undefined) return Promise.resolve(null);
    const member = this.all.get(name);
    if (member === undefined) return Promise.reject(new HttpError(401, "unauthorized", "This token is unknown."));
    return Promise.resolve(createPrincipal(name, member));
  };

  planOf(accountId: string): Promise<"free" | "paid"> {
    const member = [...this.all.values()].find((member) => member.accountId === accountId);
    return Promise.resolve(member?.plan ?? "free");
  }

  isSuspended(userId: string): Promise<boolean> {
    return Promise.resolve(this.all.get(userId)?.suspended ?? true);
  }
}

function createPrincipal(name: string, { plan, scopes, accountId }: Member): Principal {
  return {
    user: { id: name, name, email: `${name}@example.com`, isAdmin: false },
    account: { id: accountId, name: accountId, plan, role: "owner" },
    scopes: new Set(scopes),
    via: "token",
  };
}
