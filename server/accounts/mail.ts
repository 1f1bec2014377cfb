import { describeError, type Logger } from "../../common/log.ts";

/** A mail in plain text. */
export interface Mail {
  subject: string;
  text: string;
}

/** Sends mails and logs failures. */
export interface Mailer {
  /** Queues a mail and returns at once. */
  send(to: string, mail: Mail): void;
  close(): void;
}

/** The mail server and the sender. */
export interface MailerOptions {
  /** The mail server, such as `smtp://user:password@mail.example.com:587`; `smtps:` uses TLS from the start. */
  url: string;
  /** The sender of all mails. */
  from: string;
  log: Logger;
}

/** Mails in the queue; more are dropped. */
const MAX_WAITING = 1000;
const TIMEOUT_MS = 30_000;

/** Creates a mailer that uses SMTP over at most two connections. */
export function createMailer({ url, from, log }: MailerOptions): Mailer {
  const transport = onFirstUse(async () =>
    (await import("nodemailer")).createTransport({
      url,
      pool: true,
      maxConnections: 2,
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
  );
  let waiting = 0;
  const failed = (reason: string) => log.error("mail_failed", { reason });
  return {
    send(to, { subject, text }) {
      if (waiting >= MAX_WAITING) return failed("too many mails wait");
      waiting++;
      transport.get().then((one) => one.sendMail({ from, to, subject, text }))
        .catch((error) => failed(describeError(error)))
        .finally(() => waiting--);
    },
    close() {
      transport.peek()?.then((one) => one.close(), () => {});
    },
  };
}

function onFirstUse<T>(open: () => Promise<T>): { get(): Promise<T>; peek(): Promise<T> | null } {
  let opened: Promise<T> | null = null;
  return { get: () => opened ??= open(), peek: () => opened };
}

/** Composes the mail for a forgotten password. */
export function resetMail(name: string, link: string): Mail {
  return {
    subject: "A new password for Portway",
    text: `Hello ${name},

somebody, probably you, asked for a new password for Portway. Set it here within a day:

${link}

Without that nothing changes.
`,
  };
}

/** Composes the mail for an invitation. */
export function invitationMail(inviter: string, account: string, link: string): Mail {
  return {
    subject: `${inviter} invites you to ${account} on Portway`,
    text: `Hello,

${inviter} invites you to the account ${account} on Portway. Join here within a week:

${link}

Without that nothing happens.
`,
  };
}
