import { existsSync, readFileSync } from "node:fs";
import process from "node:process";
import { writeText } from "../common/output/mod.ts";

const LICENCE = new URL("../LICENSE", import.meta.url),
  MAN_PAGE = new URL("../docs/reference/portway.1", import.meta.url);
/** The builds add this file. */
const OTHER_LICENCES = "../THIRD_PARTY_LICENSES";

/** `portway --licenses`: prints the program's licence, and all licences for software inside a build. */
export async function printLicences(): Promise<number> {
  const others = new URL(OTHER_LICENCES, import.meta.url);
  const texts = [LICENCE, others].filter((url) => existsSync(url)).map((url) => readFileSync(url, "utf8").trim());
  return await print(`${texts.join(`\n\n${"-".repeat(80)}\n\n`)}\n`);
}

/** `portway man`: prints the manual page, which `man -l -` shows. */
export async function printManPage(): Promise<number> {
  return await print(readFileSync(MAN_PAGE, "utf8"));
}

async function print(text: string): Promise<number> {
  await writeText(process.stdout, text);
  return 0;
}
