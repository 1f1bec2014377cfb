export { createJsonScreen, describeDroppedEvents } from "./json_screen.ts";
export type { CarriedLine, OpenedPersistent, OpenedTunnel, Screen, Summary } from "./screen.ts";
export { createTextScreen } from "./text_screen.ts";
export { alignFields, createReporter, type Reporter } from "./reporter.ts";
