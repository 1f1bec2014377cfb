import process from "node:process";

/** Longest name in bytes of UTF-8 on common file systems. */
const MAX_NAME = 255;

/** Windows finds a device behind these in every folder, whatever stands behind a dot and spaces before it. */
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(?:\..*)?$/i;
// deno-lint-ignore no-control-regex -- what Windows has in no name; a colon is a drive or a stream of a file
const NOT_ON_WINDOWS = /[\x01-\x1f:*?"<>|]/;

/** Whether `name` can stand for one entry of a folder and nothing else. */
export function isPlainName(name: string, platform: string = process.platform): boolean {
  // A backslash is no separator but on Windows, and refused everywhere: what is written here may be unpacked there.
  // deno-lint-ignore no-control-regex
  if (name === "" || name === "." || name === ".." || /[/\\\x00]/.test(name)) return false;
  if (name.length * 3 > MAX_NAME && new TextEncoder().encode(name).length > MAX_NAME) return false;
  if (platform !== "win32") return true;
  // Windows drops dots and spaces at the end of a name, so `a.txt.` would be another name for `a.txt`.
  return !NOT_ON_WINDOWS.test(name) && !/[. ]$/.test(name) && !WINDOWS_DEVICE.test(name);
}

/**
 * Whether `name` looks like the second, short name that Windows, and FAT on any system, keeps for an entry, as
 * `PROGRA~1.TXT`: what it stands for is called otherwise. Entries can be called so in earnest, too.
 */
export function isShortName(name: string): boolean {
  return /^(?=[^.]{1,8}(?:\.|$))[^.]*~\d+(?:\.[^.]{0,3})?$/.test(name);
}

/**
 * What is the same for all ways to write one name, where the platform's disks take them for one: in letters of either
 * case on Windows and macOS, with accents apart or not on macOS. Else the name itself. For comparing, never for opening.
 */
export function foldName(name: string, platform: string = process.platform): string {
  // Upper case first: it is what makes one of letters such as `ς` and `σ`, or the long `ſ` and `s`.
  if (platform === "win32") return name.toUpperCase().toLowerCase();
  if (platform !== "darwin") return name;
  // The disks of old Macs pass over these, so that `.e<U+200C>nv` is `.env` there.
  const seen = name.replace(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, "");
  return seen.normalize("NFC").toUpperCase().toLowerCase().normalize("NFC");
}
