/** One mail, in plain text. */
export interface Mail {
  subject: string;
  text: string;
}

/** Sends mails, one after the other, and logs those that cannot be sent. */
export interface Mailer {
  send(to: string, mail: Mail): void;
  close(): void;
}

/** For somebody who forgot their password. */
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
