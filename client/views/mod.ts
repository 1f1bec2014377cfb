export { loadShownBody, streamCaptured } from "./capture_body.ts";
export type { ShownBody } from "./shown_body.ts";
export { chooseView } from "./choose_view.ts";
export { deliver, type Delivered, type DeliverOptions, NotDelivered } from "./deliver.ts";
export { findNewest, followView, ViewGone } from "./follow.ts";
export { formatBody } from "./format_body.ts";
export { type CaptureLook, formatCapture } from "./format_capture.ts";
export { type CaptureRecord, parseCapture, parseView, parseViews, type ViewRecord } from "./records.ts";
