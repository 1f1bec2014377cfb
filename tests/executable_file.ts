/** Runs the suite for the executable that the variables name. `deno task test:executable` starts this. */
import process from "node:process";
import { type Tried, tryAll } from "./executable_kit.ts";

const { PORTWAY_TRIED } = process.env;
if (PORTWAY_TRIED === undefined) throw new Error("use deno task test:executable FILE");
const tried: Tried = JSON.parse(PORTWAY_TRIED);

Deno.test(`the executable ${tried.command.join(" ")}`, (t) => tryAll(t, tried));
