/**
 * Hides a module name from Deno, which otherwise loads each visible import at start, even dynamic ones: `portway
 * --version` would load the whole server, and an idle tunnel would keep it in memory. Write `const { run }: typeof
 * import("./run.ts") = await import(later("./run.ts"))` to keep types. scripts/check_imports.ts compares both names,
 * and the package builder finds the calls.
 */
export const later = (specifier: string): string => specifier;
