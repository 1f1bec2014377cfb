import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import ts from "typescript";
import { ROOT } from "./product_files.ts";

const ENTRIES = ["mod", "server", "cli"];

/**
 * Writes types for the entries, and for each module that they name, beside the JavaScript in a package.
 * @throws Error with the compiler's message if it writes none
 */
export function emitTypes(stage: string, folder: string): void {
  // On Windows a junction needs no rights; other systems ignore the type.
  symlinkSync(join(ROOT, "node_modules"), join(stage, "node_modules"), "junction");
  const out = mkdtempSync(join(stage, "types-"));
  writeFileSync(
    join(stage, "tsconfig.json"),
    JSON.stringify({ compilerOptions: { ...OPTIONS, outDir: out }, files: ENTRIES.map((name) => `${name}.ts`) }),
  );
  const args = [join(ROOT, "node_modules", "typescript", "bin", "tsc"), "--project", stage];
  const { stdout } = spawnSync(Deno.execPath(), ["run", "-A", ...args], { encoding: "utf8", cwd: stage });
  for (const name of ENTRIES) {
    if (!existsSync(join(out, `${name}.d.ts`))) throw new Error(`tsc wrote no ${name}.d.ts: ${stdout.slice(0, 2000)}`);
  }
  copyReachable(out, folder);
  rmSync(out, { recursive: true });
}

/** Deno has checked the code, with types that tsc does not know, so the compiler continues after errors. */
const OPTIONS = {
  target: "esnext",
  module: "nodenext",
  moduleResolution: "nodenext",
  lib: ["esnext", "dom", "dom.iterable", "dom.asynciterable"],
  jsx: "react-jsx",
  jsxImportSource: "hono/jsx",
  strict: true,
  declaration: true,
  emitDeclarationOnly: true,
  noEmitOnError: false,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  stripInternal: true,
};

/** Copies the declarations that a program can reach by importing the package. */
function copyReachable(out: string, folder: string): void {
  const files = listFiles(out);
  for (const file of files) {
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace(/(\bfrom |\bimport\()"(\.[^"]+)\.tsx?"/g, '$1"$2.js"'));
  }
  const program = ts.createProgram(files, { ...TYPES_ONLY, module: ts.ModuleKind.NodeNext });
  const waiting = ENTRIES.map((name) => join(out, `${name}.d.ts`)), seen = new Set<string>();
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    const { text, leadsTo } = pointAtDeclarations(program, file);
    waiting.push(...leadsTo);
    const target = join(folder, relative(out, file));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}

const TYPES_ONLY = { noEmit: true, skipLibCheck: true, types: [], moduleResolution: ts.ModuleResolutionKind.NodeNext };

const listFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".d.ts")).map((path) => join(folder, path));

/**
 * Returns a declaration file whose imports name the declaring modules. A folder's `mod.ts` would lead to all its
 * modules, and from there to packages whose types are not in the package.
 */
function pointAtDeclarations(program: ts.Program, file: string): { text: string; leadsTo: string[] } {
  const source = program.getSourceFile(file);
  if (source === undefined) throw new Error(`cannot find ${file}`);
  const leadsTo: string[] = [], changes: { start: number; end: number; text: string }[] = [];
  for (const statement of source.statements) {
    const names = listNames(statement);
    if (names === null) continue;
    const lines = names.map((name) => {
      const { from, as } = findDeclaration(program, name);
      leadsTo.push(from);
      const path = relative(dirname(file), from).replaceAll("\\", "/").replace(/\.d\.ts$/, ".js");
      const word = ts.isImportDeclaration(statement) ? "import" : "export";
      const renamed = as === name.name.text ? as : `${as} as ${name.name.text}`;
      return `${word} type { ${renamed} } from "${path.startsWith(".") ? path : `./${path}`}";`;
    });
    changes.push({ start: statement.getStart(), end: statement.getEnd(), text: lines.join("\n") });
  }
  let text = source.text;
  for (const { start, end, text: line } of changes.reverse()) text = text.slice(0, start) + line + text.slice(end);
  const others = [...text.matchAll(/\bimport\("(\.[^"]+)\.js"\)/g)];
  return { text, leadsTo: [...leadsTo, ...others.map(([, path]) => join(dirname(file), `${path}.d.ts`))] };
}

/** Returns the names that a statement imports from another program module, or null for other statements. */
function listNames(statement: ts.Statement): readonly (ts.ImportSpecifier | ts.ExportSpecifier)[] | null {
  if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return null;
  const { moduleSpecifier } = statement;
  if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) return null;
  if (!moduleSpecifier.text.startsWith(".")) return null;
  const named = ts.isImportDeclaration(statement) ? statement.importClause?.namedBindings : statement.exportClause;
  // A module that is imported for its effect gives no types.
  if (named === undefined && ts.isImportDeclaration(statement)) return [];
  if (named === undefined || !(ts.isNamedImports(named) || ts.isNamedExports(named))) {
    throw new Error(`${statement.getText()}: expected names`);
  }
  return named.elements;
}

/** Returns a name's declaring module and its name there. */
function findDeclaration(program: ts.Program, name: ts.ImportSpecifier | ts.ExportSpecifier) {
  const checker = program.getTypeChecker(), symbol = checker.getSymbolAtLocation(name.name);
  const declared = symbol === undefined ? undefined : checker.getAliasedSymbol(symbol);
  const [declaration] = declared?.declarations ?? [];
  if (declared === undefined || declaration === undefined) throw new Error(`${name.getText()} has no declaration`);
  return { from: declaration.getSourceFile().fileName, as: declared.name };
}
