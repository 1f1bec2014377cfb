import { openLineWriter, openOutput } from "../../common/output/mod.ts";
import type { ActionContext } from "../action.ts";
import { createTeller, type Teller } from "../terminal/mod.ts";

/** An action that ends by itself, and where it says what came of it. */
export interface TellingContext extends ActionContext {
  teller: Teller;
}

/** Carries out an action that ends by itself, with all it said written when it has ended. */
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
