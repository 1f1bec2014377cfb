import process from "node:process";
import { formatDuration, printable } from "../../common/format.ts";
import { OptionError } from "../../common/options.ts";
import { openOutput, type Output } from "../../common/output/mod.ts";
import { listenForStop } from "../../common/stop_signal.ts";
import type { ActionContext } from "../action.ts";
import type { ApiClient } from "../api/mod.ts";
import type { ClientConfig } from "../config.ts";
import { findView } from "./find_view.ts";
import { describeDelivery, type Forwarder, openForwarder, reportDelivery } from "./forward_capture.ts";
import { openApi } from "../open_api.ts";
import {
  type CaptureRecord,
  createVerifier,
  type Delivered,
  DeliveryQueue,
  findNewest,
  findSince,
  followView,
  formatCapture,
  loadShownBody,
  type NotDelivered,
  streamCaptured,
  type Verdict,
  type Verifier,
  type ViewRecord,
} from "../views/mod.ts";

/** The output of a tail. Each write ends before the next capture is read, so that none is left out. */
interface Display {
  start(): Promise<void>;
  /** @param verdict of `--verify`; null without it */
  show(capture: CaptureRecord, verdict: Verdict | null): Promise<void>;
  showDelivery(capture: CaptureRecord, name: string, delivered: Delivered | NotDelivered): Promise<void>;
  lost(reason: string, waitMs: number): void;
  back(): void;
}

/** Runs `--views-tail`: shows calls as they are captured, until Ctrl+C. */
export async function tailView(context: ActionContext): Promise<number> {
  const { config, log } = context;
  const { api } = await openApi(context);
  const view = await findView(api, config.viewsTail ?? "");
  const verifier = openVerifier(config, view);
  const stop = listenForStop(), { signal } = stop;
  try {
    const forwarder = openForwarder(config, api, view, signal, log);
    const display = config.json
      ? createJsonDisplay(view, verifier)
      : createTextDisplay(context, api, view, forwarder, verifier);
    const queue = forwarder && openQueue(forwarder, display, config.forwardConcurrency, signal);
    const captures = followView({
      api,
      viewId: view.id,
      after: await findStart(config, api, view.id),
      signal,
      onLost: display.lost,
      onBack: display.back,
    });
    await display.start();
    for await (const capture of captures) {
      const body = streamCaptured(api, view.id, capture);
      await display.show(capture, verifier && await verifier.verify(capture, body));
      await queue?.add(capture);
    }
    return 0;
  } finally {
    stop.release();
  }
}

/** Returns the cursor after which the tail begins. */
async function findStart({ since }: ClientConfig, api: ApiClient, viewId: string): Promise<number> {
  if (since === null) return await findNewest(api, viewId);
  return "capture" in since ? Math.max(0, since.capture - 1) : await findSince(api, viewId, since.agoMs);
}

/** @throws OptionError for an unknown sender, or without a secret */
function openVerifier({ verify, verifySecret }: ClientConfig, { captureUrl }: ViewRecord): Verifier | null {
  if (verify === null) return null;
  if (verifySecret === null) throw new OptionError("--verify needs a secret: set PORTWAY_VERIFY_SECRET");
  try {
    return createVerifier(verify, verifySecret, captureUrl);
  } catch (cause) {
    throw new OptionError(`--verify: ${(cause as Error).message}`, { cause });
  }
}

/** Delivers captures beside their display. */
function openQueue(forwarder: Forwarder, display: Display, concurrency: number, signal: AbortSignal): DeliveryQueue {
  return new DeliveryQueue({
    concurrency,
    signal,
    async deliver(capture) {
      const delivered = await forwarder.forward(capture);
      // After Ctrl+C the delivery was cut on purpose.
      if (!signal.aborted) await display.showDelivery(capture, forwarder.name, delivered);
    },
  });
}

function createJsonDisplay({ id, captureUrl }: ViewRecord, verifier: Verifier | null): Display {
  const out = openOutput("stdout"), errors = openOutput("stderr");
  const write = (output: Output, event: object) => output(encode([JSON.stringify(event)]));
  // A reader that ignores connection events misses no capture.
  const note = (event: object) => void write(errors, event).catch(() => {});
  return {
    start: () => write(out, { event: "tailing", view: id, captureUrl }),
    show: (capture, verdict) =>
      write(out, {
        event: "capture",
        ...capture,
        ...(capture.body === null && { bodyTruncated: true }),
        ...(verifier !== null && { signature: { sender: verifier.sender, result: verdict } }),
      }),
    showDelivery: (capture, name, delivered) => write(out, reportDelivery(capture.id, name, delivered)),
    lost: (reason, waitMs) => note({ event: "reconnecting", reason, delayMs: Math.round(waitMs) }),
    back: () => note({ event: "reconnected" }),
  };
}

const VERDICTS: Readonly<Record<Verdict, string>> = {
  valid: "valid",
  invalid: "NOT VALID: the secret or the bytes differ",
  unsigned: "missing",
  too_long: "not checked: the body is too long",
};

function createTextDisplay(
  { config }: Pick<ActionContext, "config">,
  api: ApiClient,
  { id, captureUrl }: ViewRecord,
  forwarder: Forwarder | null,
  verifier: Verifier | null,
): Display {
  const out = openOutput("stdout"), errors = openOutput("stderr");
  const look = { color: process.stdout.isTTY === true && !config.noColor, columns: process.stdout.columns || 80 };
  const write = (lines: readonly string[]) => out(encode(lines));
  const note = (line: string) => void errors(encode([printable(line)])).catch(() => {});
  const describeVerdict = (verdict: Verdict | null): string[] =>
    verifier === null || verdict === null ? [] : [`Signature of ${verifier.sender}: ${VERDICTS[verdict]}`, ""];
  return {
    start: () =>
      write([
        `Waiting for calls to ${captureUrl}`,
        ...(forwarder === null ? [] : [`They are delivered to ${forwarder.name}`]),
        "Press Ctrl+C to stop.",
        "",
      ]),
    show: async (capture, verdict) =>
      await write([
        ...formatCapture(capture, await loadShownBody(api, id, capture), look),
        ...describeVerdict(verdict),
      ]),
    showDelivery: (capture, name, delivered) => write(describeDelivery(capture.id, name, delivered)),
    lost: (reason, waitMs) =>
      note(`Connection lost: ${reason.replace(/\.?$/, ".")} Trying again in ${formatDuration(waitMs)}.`),
    back: () => note("Connected again."),
  };
}

const encode = (lines: readonly string[]) => new TextEncoder().encode(lines.map((line) => line + "\n").join(""));
