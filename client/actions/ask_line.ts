import process from "node:process";

/** Whether a person at a terminal reads and types. */
export const isAttended = (): boolean => process.stdin.isTTY === true && process.stdout.isTTY === true;

/** Asks for one line on the terminal; returns null at its end, as after Ctrl+D. Ctrl+C ends the program. */
export function askLine(question: string): Promise<string | null> {
  const { stdin, stderr } = process;
  stderr.write(question);
  stdin.setEncoding("utf8");
  stdin.resume();
  return new Promise((resolve) => {
    const finish = (line: string | null) => {
      stdin.off("data", onData);
      stdin.off("end", onEnd);
      stdin.pause();
      resolve(line);
    };
    // A terminal delivers whole lines.
    const onData = (text: string) => finish(text.replace(/\r?\n$/, ""));
    const onEnd = () => {
      stderr.write("\n");
      finish(null);
    };
    stdin.on("data", onData);
    stdin.on("end", onEnd);
  });
}
