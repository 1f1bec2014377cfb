import createCode from "qrcode-generator";

/** Modules of light around a code, as cameras want them (ISO 18004). */
const QUIET = 4;
/** Less in colours and on a screen, where cameras find it too and lines are dear. */
const QUIET_ROWS = 2;

/** A QR code of half blocks. In colours it is dark on light whatever the terminal's are, which is what cameras want. */
export function createQr(text: string, color: boolean): string {
  // Level L: as few modules as there can be, on a screen that nothing stains.
  const code = createCode(0, "L");
  code.addData(text);
  code.make();
  const size = code.getModuleCount();
  const isDark = (row: number, column: number) =>
    row >= 0 && column >= 0 && row < size && column < size && code.isDark(row, column);
  const lines: string[] = [];
  for (let row = -QUIET_ROWS; row < size + QUIET_ROWS; row += 2) {
    let line = "";
    for (let column = -QUIET; column < size + QUIET; column++) {
      line += block(isDark(row, column), isDark(row + 1, column));
    }
    // Black blocks on white paper.
    lines.push(color ? `\x1b[30;107m${line}\x1b[0m` : line);
  }
  return lines.join("\n") + "\n";
}

/** One character for two modules, the upper and the lower. */
function block(upper: boolean, lower: boolean): string {
  if (upper) return lower ? "█" : "▀";
  return lower ? "▄" : " ";
}
