import process from "node:process";
import { formatDuration, printable } from "../../common/format.ts";
import { openOutput, type Output } from "../../common/output/mod.ts";
import { listenForStop } from "../../common/stop_signal.ts";
import type { ActionContext } from "../action.ts";
import type { ApiClient } from "../api/mod.ts";
import { findView } from "./find_view.ts";
import { describeDelivery, type Forwarder, openForwarder, reportDelivery } from "./forward_capture.ts";
import { openApi } from "../open_api.ts";
import {
  type CaptureRecord,
  findNewest,
  followView,
  formatCapture,
  loadShownBody,
  type ViewRecord,
} from "../views/mod.ts";

/** Where captures are shown. Each write ends before the next capture is asked for: none is left out. */
interface Display {
  start(): Promise<void>;
  show(capture: CaptureRecord): Promise<void>;
  lost(reason: string, waitMs: number): void;
  back(): void;
}

/** `--views-tail`: shows calls as they are captured, until Ctrl+C. */
export async function tailView(context: ActionContext): Promise<number> {
  const { config, log } = context;
  const { api } = await openApi(context);
  const view = await findView(api, config.viewsTail ?? "");
  const stop = listenForStop();
  try {
    const forwarder = openForwarder(config, api, view, stop.signal, log);
    const display = config.json ? createJsonDisplay(view, forwarder) : createTextDisplay(context, api, view, forwarder);
    const captures = followView({
      api,
      viewId: view.id,
      after: await findNewest(api, view.id),
      signal: stop.signal,
      onLost: display.lost,
      onBack: display.back,
    });
    await display.start();
    for await (const capture of captures) await display.show(capture);
    return 0;
  } finally {
    stop.release();
  }
}

function createJsonDisplay({ id, captureUrl }: ViewRecord, forwarder: Forwarder | null): Display {
  const out = openOutput("stdout"), errors = openOutput("stderr");
  const write = (output: Output, event: object) => output(encode([JSON.stringify(event)]));
  // Whoever does not read what is said of the connection misses nothing.
  const note = (event: object) => void write(errors, event).catch(() => {});
  return {
    start: () => write(out, { event: "tailing", view: id, captureUrl }),
    async show(capture) {
      await write(out, { event: "capture", ...capture, ...(capture.body === null && { bodyTruncated: true }) });
      if (forwarder === null) return;
      await write(out, reportDelivery(capture.id, forwarder.name, await forwarder.forward(capture)));
    },
    lost: (reason, waitMs) => note({ event: "reconnecting", reason, delayMs: Math.round(waitMs) }),
    back: () => note({ event: "reconnected" }),
  };
}

function createTextDisplay(
  { config }: Pick<ActionContext, "config">,
  api: ApiClient,
  { id, captureUrl }: ViewRecord,
  forwarder: Forwarder | null,
): Display {
  const out = openOutput("stdout"), errors = openOutput("stderr");
  const look = { color: process.stdout.isTTY === true && !config.noColor, columns: process.stdout.columns || 80 };
  const write = (lines: readonly string[]) => out(encode(lines));
  const note = (line: string) => void errors(encode([printable(line)])).catch(() => {});
  return {
    start: () =>
      write([
        `Waiting for calls to ${captureUrl}`,
        ...(forwarder === null ? [] : [`They are delivered to ${forwarder.name}`]),
        "Press Ctrl+C to stop.",
        "",
      ]),
    async show(capture) {
      await write(formatCapture(capture, await loadShownBody(api, id, capture), look));
      if (forwarder !== null) await write(describeDelivery(forwarder.name, await forwarder.forward(capture)));
    },
    lost: (reason, waitMs) =>
      note(`Connection lost: ${reason.replace(/\.?$/, ".")} Trying again in ${formatDuration(waitMs)}.`),
    back: () => note("Connected again."),
  };
}

const encode = (lines: readonly string[]) => new TextEncoder().encode(lines.map((line) => line + "\n").join(""));
