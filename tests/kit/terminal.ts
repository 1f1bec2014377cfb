import { within } from "./within.ts";

export interface TerminalOptions {
  /** Of the client. */
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** What is asked, and what is typed at one question after the other. */
  question: string;
  answers: readonly string[];
}

/** Runs the client at a pseudo terminal, types, and gives what was seen when it has ended. */
export async function runAtTerminal(options: TerminalOptions): Promise<{ code: number; seen: string }> {
  const { args, env = {}, question, answers } = options;
  const quoted = args.map((arg) => `'${arg}'`).join(" ");
  const child = new Deno.Command("script", {
    args: ["-qefc", `'${Deno.execPath()}' run -q -A cli.ts ${quoted}`, "/dev/null"],
    cwd: new URL("../../", import.meta.url),
    env: { NO_COLOR: "1", ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const keys = child.stdin.getWriter();
  let seen = "", typed = 0;
  const reading = (async () => {
    for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
      seen += piece;
      const asked = seen.split(question).length - 1;
      for (; typed < Math.min(asked, answers.length); typed++) {
        await keys.write(new TextEncoder().encode(`${answers[typed]}\r`));
      }
    }
  })();
  const { code } = await within("the end of the client", child.status, () => `; it showed:\n${seen}`);
  await reading;
  // The terminal may be gone already, and its end with it.
  await keys.close().catch(() => {});
  return { code, seen };
}
