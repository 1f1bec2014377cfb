import process from "node:process";

/** Longest name in UTF-8 bytes on common file systems. */
const MAX_NAME = 255;

/** Windows treats these as devices in every folder, with any extension after optional spaces. */
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(?:\..*)?$/i;
// deno-lint-ignore no-control-regex -- characters that Windows names cannot contain; a colon marks a drive or a stream
const NOT_ON_WINDOWS = /[\x01-\x1f:*?"<>|]/;

/** Reports whether `name` means one folder entry on the platform. */
export function isPlainName(name: string, platform: string = process.platform): boolean {
  // Backslashes are refused on all systems, because Windows may unpack the file later.
  // deno-lint-ignore no-control-regex
  if (name === "" || name === "." || name === ".." || /[/\\\x00]/.test(name)) return false;
  if (name.length * 3 > MAX_NAME && new TextEncoder().encode(name).length > MAX_NAME) return false;
  if (platform !== "win32") return true;
  // Windows drops trailing dots and spaces, so `a.txt.` would mean `a.txt`.
  return !NOT_ON_WINDOWS.test(name) && !/[. ]$/.test(name) && !WINDOWS_DEVICE.test(name);
}

/**
 * Reports whether `name` looks like a short name such as `PROGRA~1.TXT`. Windows, and FAT on any system, keep one for
 * an entry with another name. Real names can look like this too.
 */
export function isShortName(name: string): boolean {
  return /^(?=[^.]{1,8}(?:\.|$))[^.]*~\d+(?:\.[^.]{0,3})?$/.test(name);
}

/**
 * Returns a common form for all spellings that the platform's disks treat as one name: without case on Windows and
 * macOS, and without decomposition on macOS. For comparisons only, never for opening.
 */
export function foldName(name: string, platform: string = process.platform): string {
  // Upper case first, because it unites letters such as `ς` and `σ`, or `ſ` and `s`.
  if (platform === "win32") return name.toUpperCase().toLowerCase();
  if (platform !== "darwin") return name;
  // Old Mac disks ignore these, so `.e<U+200C>nv` means `.env` there.
  const seen = name.replace(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, "");
  return seen.normalize("NFC").toUpperCase().toLowerCase().normalize("NFC");
}
