// @ts-check

const PER_LINE = 16;

/**
 * Formats bytes as a hex dump: offset, hexadecimal digits, printable characters.
 * @param {Uint8Array} bytes
 * @returns {string[]}
 */
export function hexLines(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += PER_LINE) {
    const row = [...bytes.subarray(at, at + PER_LINE)];
    const digits = row.map((byte) => byte.toString(16).padStart(2, "0"));
    const left = digits.slice(0, 8).join(" "), right = digits.slice(8).join(" ");
    const text = row.map((byte) => byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".").join("");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${left.padEnd(23)}  ${right.padEnd(23)}  ${text}`);
  }
  return lines;
}
