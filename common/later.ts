/**
 * Hides the name of a module to import from Deno, which reads ahead through every import whose name it can see, the
 * dynamic ones too: `portway --version` would load the whole server, and an idle tunnel keep it in memory.
 * Always as `const { run }: typeof import("./run.ts") = await import(later("./run.ts"))`, which gives it its types;
 * scripts/check_imports.ts holds the two names to each other, and what packs the program finds its files by it.
 */
export const later = (specifier: string): string => specifier;
