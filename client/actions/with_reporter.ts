import { openLineWriter, openOutput } from "../../common/output/mod.ts";
import type { ActionContext } from "../action.ts";
import { createReporter, type Reporter } from "../terminal/mod.ts";

/** The context for an action that ends by itself, with its output. */
export interface ReportingContext extends ActionContext {
  reporter: Reporter;
}

/** Runs an action that ends by itself, then writes the rest of its output. */
export async function withReporter(
  context: ActionContext,
  carryOut: (context: ReportingContext) => Promise<number>,
): Promise<number> {
  const errors = openLineWriter(openOutput("stderr"));
  const reporter = createReporter(openLineWriter(openOutput("stdout")), errors, context.config.json);
  try {
    return await carryOut({ ...context, reporter });
  } finally {
    await reporter.flush();
  }
}
