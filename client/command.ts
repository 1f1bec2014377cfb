import { openLineWriter, openOutput } from "../common/output/mod.ts";
import type { ServerConnectorOptions } from "./server_connector.ts";
import { createTeller, type Teller } from "./terminal/mod.ts";

/** What a command that ends by itself is given. */
export interface CommandOptions extends ServerConnectorOptions {
  teller: Teller;
}

/** A command that ends by itself. Returns the exit code; what it throws is a line for the user. */
export type Command = (options: CommandOptions) => Promise<number>;

/** Runs a command with somewhere to say what came of it. */
export async function runCommand(command: Command, options: ServerConnectorOptions): Promise<number> {
  const errors = openLineWriter(openOutput("stderr"));
  const teller = createTeller(openLineWriter(openOutput("stdout")), errors, options.config.json);
  try {
    return await command({ ...options, teller });
  } finally {
    await teller.flush();
  }
}
