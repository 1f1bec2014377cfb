import { toString } from "qrcode";

/** A QR code of half blocks. In colours it is dark on light whatever the terminal's are, which is what cameras want. */
export async function createQr(url: string, color: boolean): Promise<string> {
  return await toString(url, color ? { type: "terminal", small: true } : { type: "utf8" });
}
