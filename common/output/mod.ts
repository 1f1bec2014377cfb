export { type LineWriter, openLineWriter } from "./line_writer.ts";
export { openOutput, type Output } from "./output.ts";
export { writeText } from "./write_text.ts";
