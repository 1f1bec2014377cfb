import { openLineWriter, openOutput } from "../../common/output/mod.ts";
import type { ActionContext } from "../action.ts";
import { createTeller, type Teller } from "../terminal/mod.ts";

/** The context for an action that ends by itself, with its output. */
export interface TellingContext extends ActionContext {
  teller: Teller;
}

/** Runs an action that ends by itself, then writes the rest of its output. */
export async function withTeller(
  context: ActionContext,
  carryOut: (context: TellingContext) => Promise<number>,
): Promise<number> {
  const errors = openLineWriter(openOutput("stderr"));
  const teller = createTeller(openLineWriter(openOutput("stdout")), errors, context.config.json);
  try {
    return await carryOut({ ...context, teller });
  } finally {
    await teller.flush();
  }
}
