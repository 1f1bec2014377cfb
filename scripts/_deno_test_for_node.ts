/** `Deno.test` for Node, by its own test runner: loaded before test files, so that the same files run on both. */
import process from "node:process";
import { after, test, type TestContext } from "node:test";

interface Steps {
  step(name: string, run: () => void | Promise<void>): Promise<void>;
}

type Run = (steps: Steps) => void | Promise<void>;

const stepsOf = (context: TestContext): Steps => ({ step: (name, run) => context.test(name, async () => await run()) });

/** Time for a test's resources to end after the last test. */
const GRACE_MS = 10_000;
let isFirst = true;

/**
 * A file that keeps its process alive fails. To have Node end it at once (`--test-force-exit`) would lose the results that
 * are still on their way to the runner.
 */
function failWhenSomethingIsLeft(): void {
  after(() =>
    void setTimeout(() => {
      process.stderr.write(`${process.argv[1]} left open: ${process.getActiveResourcesInfo().join(", ")}\n`);
      process.exit(1);
    }, GRACE_MS).unref()
  );
}

Object.assign(globalThis, {
  Deno: {
    test(name: string, run: Run) {
      if (isFirst) failWhenSomethingIsLeft();
      isFirst = false;
      void test(name, async (context) => await run(stepsOf(context)));
    },
  },
});
