import { deepEqual, equal } from "node:assert/strict";
import { startTestProxy, startTestUpstream } from "./proxy_kit.ts";

const ALLOW = { proxyAllow: "127.0.0.1,localhost,*.localhost" };

/** Answers each path with what a table has for it, and notes the Cookie that came with it. */
function startSite(answers: Record<string, { to?: string; cookies?: string[] }>) {
  const cookies: [string, string | null][] = [];
  const upstream = startTestUpstream((request) => {
    const { pathname } = new URL(request.url);
    cookies.push([pathname, request.headers.get("cookie")]);
    const { to, cookies: set = [] } = answers[pathname] ?? {};
    const headers = set.map((value): [string, string] => ["set-cookie", value]);
    return new Response(null, {
      status: to === undefined ? 204 : 302,
      headers: to ? [...headers, ["location", to]] : headers,
    });
  });
  return { ...upstream, cookies };
}

Deno.test("proxy sends cookies that a redirect has set on to its later hops, and shows them with the hop", async () => {
  await using site = startSite({
    "/login": { to: "/home", cookies: ["session=s1; Path=/; HttpOnly", "theme=dark"] },
    "/home": { to: "/end", cookies: ["session=s2; Path=/", "theme=; Max-Age=0"] },
    "/end": { cookies: ["last=1"] },
  });
  await using proxy = await startTestProxy(ALLOW);
  const answer = await (await proxy.request({
    url: `${site.url}/login`,
    headers: { cookie: "own=1; session=old" },
  })).json();
  deepEqual(site.cookies, [
    ["/login", "own=1; session=old"],
    ["/home", "own=1; session=s1; theme=dark"],
    ["/end", "own=1; session=s2"],
  ]);
  deepEqual(answer.redirects.map((hop: { setCookie: string[] }) => hop.setCookie), [
    ["session=s1; Path=/; HttpOnly", "theme=dark"],
    ["session=s2; Path=/", "theme=; Max-Age=0"],
  ]);
  deepEqual(answer.headers.filter(([name]: [string]) => name.toLowerCase() === "set-cookie"), [[
    "set-cookie",
    "last=1",
  ]]);
});

Deno.test("proxy keeps a cookie to its path, to https and to its domain, and takes none for another's", async () => {
  await using site = startSite({
    "/start": {
      to: "/deep/page",
      cookies: [
        "deep=1; Path=/deep",
        "elsewhere=1; Path=/other",
        "secure=1; Secure; Path=/",
        "foreign=1; Domain=example.com; Path=/",
        "wide=1; Domain=localhost; Path=/",
        "__Host-fake=1; Path=/deep",
        "malformed",
      ],
    },
    "/deep/page": { to: "/deep/" },
  });
  await using proxy = await startTestProxy(ALLOW);
  await (await proxy.request({ url: `${site.url}/start` })).body?.cancel();
  deepEqual(site.cookies, [["/start", null], ["/deep/page", "deep=1"], ["/deep/", "deep=1"]]);
});

Deno.test("proxy sends no cookie of one host to another that a redirect leads to, and has it when that leads back", async () => {
  const answers: Parameters<typeof startSite>[0] = {};
  await using site = startSite(answers);
  const { port } = new URL(site.url);
  answers["/1"] = { to: `http://a.localhost:${port}/2`, cookies: ["mine=1; Path=/"] };
  answers["/2"] = { to: `http://b.localhost:${port}/3`, cookies: ["of=a; Path=/"] };
  answers["/3"] = { to: `${site.url}/4` };
  await using proxy = await startTestProxy(ALLOW);
  const answer = await (await proxy.request({ url: `${site.url}/1`, headers: { cookie: "given=1" } })).json();
  equal(answer.status, 204);
  // What the caller gave was for the first host's first visit; what the host set itself is its own.
  deepEqual(site.cookies, [["/1", "given=1"], ["/2", null], ["/3", null], ["/4", "mine=1"]]);
});

Deno.test("proxy forgets cookies with the request that met them", async () => {
  await using site = startSite({ "/a": { to: "/b", cookies: ["kept=1; Path=/; Max-Age=999999"] } });
  await using proxy = await startTestProxy(ALLOW);
  for (let i = 0; i < 2; i++) await (await proxy.request({ url: `${site.url}/a` })).body?.cancel();
  deepEqual(site.cookies, [["/a", null], ["/b", "kept=1"], ["/a", null], ["/b", "kept=1"]]);
});
