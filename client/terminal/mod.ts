export { createJsonScreen, describeDroppedEvents } from "./json_screen.ts";
export { type LineWriter, openLineWriter } from "./line_writer.ts";
export { openOutput, type Output } from "./output.ts";
export type { CarriedLine, OpenedTunnel, Screen, Summary } from "./screen.ts";
export { createTextScreen } from "./text_screen.ts";
