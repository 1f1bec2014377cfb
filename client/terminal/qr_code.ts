// The package's core alone: its main module also loads writers of images and files.
import core from "qrcode/lib/core/qrcode.js";

/** The used part of the package, which has no types of its own. */
interface QrPackage {
  create(text: string, options: { errorCorrectionLevel: "L" }): {
    modules: { size: number; get(row: number, column: number): number };
  };
}
const { create }: QrPackage = core;

/** Light modules on the left and right of a code, as ISO 18004 asks. */
const QUIET = 4;
/** Light rows above and below: fewer, because cameras find a code on a screen without them, and rows are scarce. */
const QUIET_ROWS = 2;

/** Returns a QR code of half blocks. With color it is dark on light in every terminal, which cameras need. */
export function createQr(text: string, color: boolean): string {
  // The lowest level of error correction makes the smallest code, and no dirt covers a screen.
  const { modules } = create(text, { errorCorrectionLevel: "L" }), { size } = modules;
  const isDark = (row: number, column: number) =>
    row >= 0 && column >= 0 && row < size && column < size && modules.get(row, column) !== 0;
  const lines: string[] = [];
  for (let row = -QUIET_ROWS; row < size + QUIET_ROWS; row += 2) {
    let line = "";
    for (let column = -QUIET; column < size + QUIET; column++) {
      line += block(isDark(row, column), isDark(row + 1, column));
    }
    lines.push(color ? `\x1b[30;107m${line}\x1b[0m` : line);
  }
  return lines.join("\n") + "\n";
}

/** Returns one character for two modules, the upper and the lower. */
function block(upper: boolean, lower: boolean): string {
  if (upper) return lower ? "█" : "▀";
  return lower ? "▄" : " ";
}
