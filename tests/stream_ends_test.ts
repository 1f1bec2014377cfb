/** A stream of captures ends within a second of the permission that opened it, however many calls arrive. */
import { match, ok } from "node:assert/strict";
import { openPage, postForm, signInByForm, signUpByForm, startHq } from "./hq_kit.ts";
import { type Server, visit, within } from "./kit.ts";

type Headers = Record<string, string>;

/** Calls `/api/v1` as the holder of a cookie or a token. */
async function ask<T>(server: Server, headers: Headers, method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(`${server.url}/api/v1${path}`, {
    method,
    headers: { origin: server.url, ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  ok(response.ok, text);
  return text === "" ? {} as T : JSON.parse(text) as T;
}

/** Makes a personal token at HQ. */
async function makeToken(server: Server, cookie: string): Promise<{ token: string; id: string }> {
  const fields = new URLSearchParams([["name", "script"], ["days", "30"], ["scope", "views:read"]]);
  const answer = await visit(`${server.url}/account/tokens`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", origin: server.url, cookie },
    body: fields.toString(),
  });
  const text = await answer.text();
  return { token: /pwt_[\w-]{43}/.exec(text)?.[0] ?? "", id: /tokens\/([\w-]+)\/revoke/.exec(text)?.[1] ?? "" };
}

/** Follows a view that gets a call every 50 ms. Resolves once captures arrive. */
async function follow(server: Server, { id, captureUrl }: View, headers: Headers) {
  const response = await fetch(`${server.url}/api/v1/views/${id}/stream`, { headers });
  ok(response.ok, await (response.ok ? "" : response.text()));
  const arrived = Promise.withResolvers<void>();
  let text = "";
  const ended = (async () => {
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      if (text.includes("event: capture")) arrived.resolve();
    }
    return text;
  })();
  const calling = setInterval(() => void visit(captureUrl, { method: "POST" }).catch(() => {}), 50);
  await within("a capture", arrived.promise);
  return {
    /** Runs what ends the permission, and expects the end of the stream. */
    async endsBy(action: () => Promise<unknown>): Promise<void> {
      try {
        await action();
        const at = performance.now();
        const told = await within("the end of the stream", ended);
        ok(performance.now() - at < 1000, `it took ${performance.now() - at} ms`);
        match(told, /event: removed\n/);
      } finally {
        clearInterval(calling);
      }
    },
  };
}

interface View {
  id: string;
  captureUrl: string;
}

const addView = (server: Server, cookie: string) => ask<View>(server, { cookie }, "POST", "/views", {});
const whoami = (server: Server, cookie: string) =>
  ask<{ user: { id: string }; account: { id: string } }>(server, { cookie }, "GET", "/whoami");

Deno.test("a stream ends when its token is revoked, its view deleted, or its user suspended", async () => {
  await using server = await startHq();
  const cookie = await signUpByForm(server, "Ann"), admin = await signInByForm(server);
  const { token, id } = await makeToken(server, cookie);
  const headers = { authorization: `Bearer ${token}` };
  const first = await addView(server, cookie), second = await addView(server, cookie);
  const byToken = await follow(server, first, headers);
  await byToken.endsBy(() => postForm(server, `/account/tokens/${id}/revoke`, cookie));
  const deleted = await follow(server, first, { cookie });
  await deleted.endsBy(() => ask(server, { cookie }, "DELETE", `/views/${first.id}`));
  const bySession = await follow(server, second, { cookie });
  const { user } = await whoami(server, cookie);
  await bySession.endsBy(() => postForm(server, `/admin/users/${user.id}/suspended`, admin, { suspended: "yes" }));
});

Deno.test("a browser's stream ends when its user signs out or changes the password elsewhere", async () => {
  await using server = await startHq();
  const password = "Ann has a password", person = { email: "ann@example.com", password };
  const first = await signUpByForm(server, "Ann"), second = await signInByForm(server, person);
  const third = await signInByForm(server, person);
  const view = await addView(server, first);
  await (await follow(server, view, { cookie: first })).endsBy(() => postForm(server, "/sign-out", first));
  const change = { current: password, password: "another password" };
  await (await follow(server, view, { cookie: second })).endsBy(() =>
    postForm(server, "/account/security", third, change)
  );
});

Deno.test("a stream ends when its session switches the account, and when its user leaves the account", async () => {
  await using server = await startHq();
  const owner = await signInByForm(server), ann = await signUpByForm(server, "Ann");
  const own = await whoami(server, ann), other = await whoami(server, owner);
  await postForm(server, "/account/invite", owner, { email: "ann@example.com", role: "member" });
  const { text } = await openPage(`${server.url}/account`, { headers: { cookie: owner } });
  const invitation = /\/invitation\/([\w-]+)/.exec(text)?.[1];
  ok(invitation !== undefined, text);
  await postForm(server, `/invitation/${invitation}`, ann);
  const view = await addView(server, owner);
  const join = () => ask(server, { cookie: ann }, "POST", `/accounts/${other.account.id}/switch`);
  await join();
  await (await follow(server, view, { cookie: ann })).endsBy(() =>
    ask(server, { cookie: ann }, "POST", `/accounts/${own.account.id}/switch`)
  );
  await join();
  const members = (await openPage(`${server.url}/account`, { headers: { cookie: owner } })).text;
  const ids = [...members.matchAll(/\/account\/members\/([\w-]+)\/remove/g)].map(([, id]) => id);
  await (await follow(server, view, { cookie: ann })).endsBy(async () => {
    // The last owner cannot leave, so only Ann goes.
    for (const id of new Set(ids)) await postForm(server, `/account/members/${id}/remove`, owner);
  });
});
