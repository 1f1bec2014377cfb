import assert from "node:assert/strict";
import { openConnector } from "../../net/connection/mod.ts";
import { discoverOAuth, type IssuedTokens } from "../api/mod.ts";
import { metadata, type Say, startTestServer } from "../api/_test_server.ts";
import { type DeviceCode, logInByDevice } from "./device_flow.ts";

const CODE = {
  device_code: "d1",
  user_code: "WDJB-MJHT",
  verification_uri: "https://hq.example/device",
  verification_uri_complete: "https://hq.example/device?user_code=WDJB-MJHT",
  expires_in: 600,
  interval: 2,
};

interface Ended {
  tokens: Promise<IssuedTokens>;
  codes: DeviceCode[];
  waits: number[];
  polls: () => string[];
}

/** Logs in against a server that issues `code`. Polls get the given responses in order, and the last one repeats. */
async function logIn(
  answers: readonly (readonly [status: number, body: unknown])[],
  test: (ended: Ended) => Promise<void>,
  code: Record<string, unknown> = CODE,
  abort: AbortController | null = null,
): Promise<void> {
  let count = 0;
  const say: Say = ({ path }) => {
    if (path === "/.well-known/oauth-authorization-server") return [200, metadata(server.url.origin)];
    return path === "/device" ? [200, code] : answers[Math.min(count++, answers.length - 1)];
  };
  await using server = await startTestServer(say);
  const connect = openConnector(), codes: DeviceCode[] = [], waits: number[] = [];
  const endpoints = await discoverOAuth(connect, server.url);
  const tokens = logInByDevice({
    connect,
    endpoints,
    scope: "openid tunnels:use",
    signal: (abort ?? new AbortController()).signal,
    onCode(told) {
      codes.push(told);
      abort?.abort();
    },
    wait: (ms) => Promise.resolve(void waits.push(ms)),
  });
  tokens.catch(() => {});
  const polls = () => server.got.filter(({ path }) => path === "/token").map(({ body }) => body);
  await test({ tokens, codes, waits, polls });
  if (code === CODE) assert.equal(server.got[1].body, "client_id=portway-cli&scope=openid+tunnels%3Ause");
}

const pending = [400, { error: "authorization_pending" }] as const;
const slower = [400, { error: "slow_down" }] as const;
const issued = [200, { access_token: "a1", refresh_token: "r1", expires_in: 3600 }] as const;

Deno.test("the device login shows its code and asks until it is entered, more slowly when it is told to", async () => {
  await logIn([pending, slower, pending, issued], async ({ tokens, codes, waits, polls }) => {
    assert.equal((await tokens).accessToken, "a1");
    assert.deepEqual(waits, [2000, 2000, 7000, 7000]);
    assert.deepEqual([codes[0].userCode, codes[0].page, codes[0].pageWithCode], [
      "WDJB-MJHT",
      "https://hq.example/device",
      "https://hq.example/device?user_code=WDJB-MJHT",
    ]);
    assert.equal(
      polls()[0],
      "client_id=portway-cli&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=d1",
    );
  });
});

Deno.test("the device login goes on while the server restarts, and asks less often", async () => {
  await logIn([[503, "x"], [502, "x"], issued], async ({ tokens, waits }) => {
    assert.equal((await tokens).accessToken, "a1");
    assert.deepEqual(waits, [2000, 4000, 8000]);
  });
});

Deno.test("the device login ends in one line when it is denied, late or refused", async () => {
  const cases = [
    ["access_denied", "the login was denied in the browser"],
    ["expired_token", "the code expired before it was entered"],
    ["invalid_client", "the server refused: invalid_client"],
  ];
  for (const [error, message] of cases) {
    await logIn([pending, [400, { error }]], async ({ tokens, polls }) => {
      await assert.rejects(tokens, { name: "LoginFailed", message });
      assert.equal(polls().length, 2);
    });
  }
  await logIn([pending], async ({ tokens }) => {
    await assert.rejects(tokens, { message: "the code expired before it was entered" });
  }, { ...CODE, expires_in: 0.2 });
});

Deno.test("the device login ends when it is given up, and waits five seconds where no time is named", async () => {
  await logIn(
    [pending],
    async ({ tokens }) => {
      await assert.rejects(tokens, { name: "LoginFailed", message: "the login was cancelled" });
    },
    CODE,
    new AbortController(),
  );
  await logIn([issued], async ({ tokens, waits }) => {
    await tokens;
    assert.deepEqual(waits, [5000]);
  }, { ...CODE, interval: undefined });
});

Deno.test("the device login shows nothing that steers a terminal", async () => {
  const damages = [{ user_code: "\x1b[2J" }, { verification_uri: "https://a.example/\x1b[2J" }, { device_code: 1 }];
  for (const damage of [...damages, { verification_uri: "javascript:1" }]) {
    await logIn([issued], async ({ tokens, codes }) => {
      await assert.rejects(tokens, { name: "ApiRefused", code: "not_portway" });
      assert.deepEqual(codes, []);
    }, { ...CODE, ...damage });
  }
});
