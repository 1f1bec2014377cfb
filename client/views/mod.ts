export { loadShownBody, type ShownBody, streamCaptured } from "./capture_body.ts";
export { chooseView } from "./choose_view.ts";
export { deliver, type Delivered, type DeliverOptions, NotDelivered } from "./deliver.ts";
export { DeliveryQueue } from "./delivery_queue.ts";
export { findNewest, findSince, followView, ViewGone } from "./follow.ts";
export { formatBody } from "./format_body.ts";
export { type CaptureLook, formatCapture } from "./format_capture.ts";
export { type CaptureRecord, parseCapture, parseView, parseViews, type ViewRecord } from "./records.ts";
export { createVerifier, type Verdict, type Verifier } from "./verify_capture.ts";
