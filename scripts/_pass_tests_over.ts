/**
 * Loaded before test files, since `deno test --filter` cannot say "all but": tests whose names match the pattern in
 * `PORTWAY_TEST_PASSED_OVER` are ignored.
 */
const pattern = new RegExp(Deno.env.get("PORTWAY_TEST_PASSED_OVER") ?? "$^");

type Run = (context: Deno.TestContext) => void | Promise<void>;
type Definition = Omit<Deno.TestDefinition, "fn"> & { fn: Run };

const register = Deno.test;

function registerSome(named: string | Definition, run?: Run): void {
  const definition = typeof named === "string" ? { name: named, fn: run } : named;
  const { name, fn } = definition;
  if (fn === undefined) throw new TypeError(`the test "${name}" has nothing to run`);
  register({ ...definition, fn, ...(pattern.test(name) ? { ignore: true } : {}) });
}

Object.assign(Deno, { test: Object.assign(registerSome, register) });
