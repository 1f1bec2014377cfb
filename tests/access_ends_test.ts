/** What somebody has open ends when they may not go on: in the server where that is decided, at once. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { openPage, postForm, signInByForm, signUpByForm, startHq } from "./hq_kit.ts";
import { startSite, visit } from "./kit.ts";
import { expose, makeTunnel } from "./kit/tunnel_server.ts";
import type { Server } from "./kit/mod.ts";

interface Made {
  token: string;
  id: string;
}

/** Makes a token at HQ that may use and make tunnels. */
async function makeToken(server: Server, cookie: string, name: string): Promise<Made> {
  const idsOn = (text: string) => [...text.matchAll(/\/account\/tokens\/([\w-]+)\/revoke/g)].map(([, id]) => id);
  const before = idsOn((await openPage(`${server.url}/account/tokens`, { headers: { cookie } })).text);
  const scopes = ["tunnels:use", "tunnels:write"].map((scope): [string, string] => ["scope", scope]);
  const fields = new URLSearchParams([["name", name], ["days", "30"], ...scopes]);
  const answer = await visit(`${server.url}/account/tokens`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", origin: server.url, cookie },
    body: fields.toString(),
  });
  const text = await answer.text();
  const token = /pwt_[\w-]{43}/.exec(text)?.[0];
  const id = idsOn(text).find((one) => !before.includes(one));
  ok(token !== undefined && id !== undefined, text);
  return { token, id };
}

Deno.test("a revoked token's sessions end at once, and those of another of the same user go on", async () => {
  await using server = await startHq();
  await using site = startSite();
  const cookie = await signUpByForm(server, "Ann");
  const lost = await makeToken(server, cookie, "lost"), kept = await makeToken(server, cookie, "kept");
  const first = await makeTunnel(server, lost.token), second = await makeTunnel(server, kept.token, { name: "other" });
  await using open = await expose(server, { token: lost.token, tunnel: first, service: site });
  await using other = await expose(server, { token: kept.token, tunnel: second, service: site });
  equal((await visit(`${first.url}/text`)).status, 200);
  equal((await postForm(server, `/account/tokens/${lost.id}/revoke`, cookie)).status, 303);
  const end = await open.ended;
  deepEqual([end.reason, end.text], ["disabled", "the login or token of this client was revoked: log in again"]);
  equal((await visit(`${second.url}/text`)).status, 200);
  await expose(server, { token: lost.token, tunnel: first, service: site }).then(
    () => ok(false, "a revoked token opened a session"),
    (error) => ok(/401|token_invalid|revoked/i.test(String(error)), String(error)),
  );
  other.session.close();
});

Deno.test("a suspended user's sessions end at once, and they can open no other", async () => {
  await using server = await startHq();
  await using site = startSite();
  const ann = await signUpByForm(server, "Ann"), admin = await signInByForm(server);
  const { token } = await makeToken(server, ann, "laptop");
  const tunnel = await makeTunnel(server, token);
  const whoami = await visit(`${server.url}/api/v1/whoami`, { headers: { authorization: `Bearer ${token}` } });
  const { user } = await whoami.json() as { user: { id: string } };
  await using open = await expose(server, { token, tunnel, service: site });
  equal((await postForm(server, `/admin/users/${user.id}/suspended`, admin, { suspended: "yes" })).status, 303);
  equal((await open.ended).reason, "disabled");
  const refused = await visit(`${server.url}/api/v1/whoami`, { headers: { authorization: `Bearer ${token}` } });
  deepEqual([refused.status, refused.headers["portway-error"]], [403, "user_suspended"]);
  equal((await openPage(`${server.url}/tunnels`, { headers: { cookie: ann } })).status, 303);
});
