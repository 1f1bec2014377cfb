export { type CapturesArea, type CapturesOptions, createCaptures } from "./captures.ts";
export { CHALLENGES } from "./receive/challenge.ts";
export type { DescribedView } from "./service/describe.ts";
export type { CaptureFigures } from "./figures.ts";
export type { ViewService } from "./service/view_service.ts";
