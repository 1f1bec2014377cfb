/**
 * Loaded before test files, since `deno test --filter` cannot say "all but": tests whose names match the pattern in
 * `PORTWAY_TEST_PASSED_OVER` are ignored.
 */
const pattern = new RegExp(Deno.env.get("PORTWAY_TEST_PASSED_OVER") ?? "$^");

type Run = (context: Deno.TestContext) => void | Promise<void>;
type Definition = Omit<Deno.TestDefinition, "fn" | "name"> & { name?: string; fn?: Run };

const register = Deno.test;

/** Supports all forms of a test: name, options and function, some in one object. */
function registerSome(first: string | Definition, ...rest: (Run | Definition)[]): void {
  const parts = [typeof first === "string" ? { name: first } : first, ...rest];
  const { name, fn, ...options }: Definition = Object.assign(
    {},
    ...parts.map((part) => typeof part === "function" ? { fn: part } : part),
  );
  if (name === undefined || fn === undefined) throw new TypeError(`a test lacks a name or what it does: ${name}`);
  register({ ...options, name, fn, ...(pattern.test(name) ? { ignore: true } : {}) });
}

Object.assign(Deno, { test: Object.assign(registerSome, register) });
