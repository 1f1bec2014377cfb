import { equal, match, ok } from "node:assert/strict";
import { createServer, type Socket } from "node:net";
import { once } from "node:events";
import { openStore } from "../store/mod.ts";
import { ADMIN, recordingLogger, startAccounts } from "./accounts_kit_test.ts";

interface MailServer extends AsyncDisposable {
  readonly url: string;
  /** The next mail as received, with head and text. */
  next(): Promise<string>;
}

/** Starts a minimal mail server (RFC 5321). */
async function startMailServer(): Promise<MailServer> {
  const mails: string[] = [], sockets = new Set<Socket>();
  let wake = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let text = "", isData = false;
    socket.write("220 test\r\n");
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      text += bytes.toString();
      for (let at = text.indexOf("\r\n"); at >= 0; at = text.indexOf("\r\n")) {
        if (isData) {
          const end = text.indexOf("\r\n.\r\n");
          if (end < 0) return;
          mails.push(text.slice(0, end));
          wake.resolve();
          text = text.slice(end + 5);
          isData = false;
          socket.write("250 taken\r\n");
          continue;
        }
        const line = text.slice(0, at);
        text = text.slice(at + 2);
        isData = /^data/i.test(line);
        socket.write(isData ? "354 go on\r\n" : /^quit/i.test(line) ? "221 bye\r\n" : "250 ok\r\n");
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `smtp://127.0.0.1:${address.port}`,
    async next() {
      while (mails.length === 0) {
        await wake.promise;
        wake = Promise.withResolvers();
      }
      return mails.shift()?.replace(/=\r\n/g, "").replaceAll("=3D", "=") ?? "";
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

Deno.test("invitations and links for a new password go out by mail", async () => {
  await using mails = await startMailServer();
  const store = await openStore({ dataDir: null });
  {
    await using server = await startAccounts(store, {
      mail: { url: mails.url, from: "Portway <no-reply@example.com>" },
    });
    const browser = server.browse();
    equal(server.accounts.entry.sendsMail, true);
    await browser.post("sign-in", ADMIN);
    const { body } = await browser.post("invite", { email: "anna@example.com", role: "member" });
    equal(body.mailed, true);
    const invitation = await mails.next();
    match(invitation, /^To: anna@example\.com\r$/m);
    match(invitation, /^From: Portway <no-reply@example\.com>\r$/m);
    ok(invitation.includes(body.url), invitation);
    const stranger = server.browse();
    // The response does not reveal whether a user exists.
    equal((await stranger.post("forgot", { email: "nobody@example.com" })).status, 200);
    equal((await stranger.post("forgot", { email: ADMIN.email })).status, 200);
    const reset = await mails.next();
    match(reset, /^To: admin@example\.com\r$/m);
    const token = /\/reset\?token=([\w-]+)/.exec(reset)?.[1];
    equal((await stranger.post("reset", { token, password: "a new password" })).status, 200);
    equal((await stranger.post("sign-in", { ...ADMIN, password: "a new password" })).status, 200);
  }
  await store.close();
});

Deno.test("a mail that cannot be sent is logged, and the invitation stands", async () => {
  const store = await openStore({ dataDir: null });
  const { log, lines } = recordingLogger();
  const failed = Promise.withResolvers<void>();
  const error: typeof log.error = (event, fields) => {
    log.error(event, fields);
    failed.resolve();
  };
  {
    const mail = { url: "smtp://user:secret@127.0.0.1:1", from: "no-reply@example.com" };
    await using server = await startAccounts(store, { mail, log: { ...log, error } });
    const browser = server.browse();
    await browser.post("sign-in", ADMIN);
    equal((await browser.post("invite", { email: "anna@example.com", role: "member" })).status, 200);
    await failed.promise;
    const told = lines.find(({ event }) => event === "mail_failed");
    match(String(told?.fields.reason), /refused/i);
    ok(!JSON.stringify(lines).includes("secret"));
  }
  await store.close();
});
