/** `Deno.test` for Node, by its own test runner: loaded before test files, so that the same files run on both. */
import { test, type TestContext } from "node:test";

interface Steps {
  step(name: string, run: () => void | Promise<void>): Promise<void>;
}

type Run = (steps: Steps) => void | Promise<void>;

const stepsOf = (context: TestContext): Steps => ({ step: (name, run) => context.test(name, async () => await run()) });

Object.assign(globalThis, {
  Deno: { test: (name: string, run: Run) => void test(name, async (context) => await run(stepsOf(context))) },
});
