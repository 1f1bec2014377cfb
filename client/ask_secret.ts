import process from "node:process";

/** Asks for one line on the terminal without echo. Ctrl+C ends the program. */
export function askSecret(question: string): Promise<string> {
  const { stdin, stderr } = process;
  stderr.write(question);
  stdin.setRawMode(true);
  stdin.setEncoding("utf8");
  stdin.resume();
  return new Promise((resolve) => {
    let typed = "";
    const finish = () => {
      stdin.off("data", onData);
      stdin.setRawMode(false);
      stdin.pause();
      stderr.write("\n");
    };
    const onData = (text: string) => {
      for (const char of text) {
        if (char === "\u0003") {
          finish();
          process.exit(130);
        }
        if (char === "\r" || char === "\n" || char === "\u0004") {
          finish();
          return resolve(typed);
        }
        typed = char === "\u007f" || char === "\b" ? [...typed].slice(0, -1).join("") : typed + char;
      }
    };
    stdin.on("data", onData);
  });
}
