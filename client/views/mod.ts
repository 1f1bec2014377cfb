export { loadShownBody, type ShownBody, streamBody } from "./capture_body.ts";
export { chooseView, NoSuchView } from "./choose_view.ts";
export { deliver, type Delivered, type DeliverOptions, NotDelivered } from "./deliver.ts";
export { findNewest, followView, ViewGone } from "./follow.ts";
export { formatBody } from "./format_body.ts";
export { formatCapture, type Look } from "./format_capture.ts";
export { type Capture, parseCapture, parseView, parseViews, type View } from "./records.ts";
