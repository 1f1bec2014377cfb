import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { NpmPackage } from "./npm_packages.ts";

/** The file with licences for all software inside a build; `portway --licenses` prints it. */
export const LICENCES_FILE = "THIRD_PARTY_LICENSES";

const SEPARATOR = `\n${"-".repeat(80)}\n\n`;

/** Writes package licences into a build, sorted by name. @throws Error for a package without a licence */
export function writeLicences(folder: string, packages: readonly NpmPackage[]): void {
  const sorted = packages.toSorted((a, b) => a.name.localeCompare(b.name) || a.version.localeCompare(b.version));
  writeFileSync(join(folder, LICENCES_FILE), sorted.map(describe).join(SEPARATOR));
}

/** Adds a runtime's licence to the build. */
export function addRuntimeLicence(folder: string, runtime: string, licence: string): void {
  const file = join(folder, LICENCES_FILE);
  writeFileSync(file, `${readFileSync(file, "utf8")}${SEPARATOR}${runtime}\n\n${licence.trim()}\n`);
}

interface Manifest {
  license?: string;
  author?: string | { name: string };
}

function describe({ name, version, path }: NpmPackage): string {
  const file = readdirSync(path).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? findStandardText(name, path) : readFileSync(join(path, file), "utf8");
  return `${name} ${version}\n\n${text.trim()}\n`;
}

/** Some packages only name their licence. The standard text with the author's name then takes the file's role. */
function findStandardText(name: string, path: string): string {
  const { license, author }: Manifest = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
  const holder = (typeof author === "object" ? author.name : author)?.replace(/\s*[<(].*$/, "");
  const text = TEXTS[license ?? ""];
  if (text === undefined || holder === undefined) throw new Error(`cannot find the licence for ${name}: "${license}"`);
  return text.replace("HOLDER", holder);
}

const MIT = `MIT License

Copyright (c) HOLDER

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.`;

const ISC = `ISC License

Copyright (c) HOLDER

Permission to use, copy, modify, and/or distribute this software for any
purpose with or without fee is hereby granted, provided that the above
copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH
REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF MERCHANTABILITY
AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT,
INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM
LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE OR
OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR
PERFORMANCE OF THIS SOFTWARE.`;

const UNLICENSE = `The Unlicense, dedicated to the public domain by HOLDER

This is free and unencumbered software released into the public domain.

Anyone is free to copy, modify, publish, use, compile, sell, or distribute
this software, either in source code form or as a compiled binary, for any
purpose, commercial or non-commercial, and by any means.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN
ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION
WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.

For more information, please refer to <https://unlicense.org>`;

const TEXTS: Readonly<Record<string, string | undefined>> = { MIT, ISC, Unlicense: UNLICENSE };

/** The Deno runtime's licence, whose package for embedding has no file with it. */
export const DENO_LICENCE = MIT.replace("HOLDER", "2018-2026 the Deno authors");
