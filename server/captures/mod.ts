export { type CapturesArea, type CapturesOptions, createCaptures } from "./captures.ts";
export type { DescribedView } from "./desk/describe.ts";
export type { CaptureFigures } from "./figures.ts";
export type { ViewDesk } from "./desk/view_desk.ts";
