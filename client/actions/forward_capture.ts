import { openConnector } from "../../net/connection/mod.ts";
import { formatBytes, formatDuration, printable } from "../../common/format.ts";
import type { Logger } from "../../common/log.ts";
import type { ApiClient } from "../api/mod.ts";
import type { ClientConfig } from "../config.ts";
import { logConnect } from "../log_connect.ts";
import {
  type CaptureRecord,
  deliver,
  type Delivered,
  formatBody,
  NotDelivered,
  streamCaptured,
  type ViewRecord,
} from "../views/mod.ts";

/** Delivers captures to the service of `--forward`. */
export interface Forwarder {
  /** The service, for messages. */
  readonly name: string;
  /** Returns the service's response, or the reason why there is none. */
  forward(capture: CaptureRecord): Promise<Delivered | NotDelivered>;
}

/** Creates the forwarder that the options describe, or returns null without `--forward`. */
export function openForwarder(
  { forward, forwardTimeout, hostHeader }: Pick<ClientConfig, "forward" | "forwardTimeout" | "hostHeader">,
  api: Pick<ApiClient, "stream">,
  { id: viewId }: ViewRecord,
  signal: AbortSignal,
  log: Logger,
): Forwarder | null {
  if (forward === null) return null;
  // A local service is reached directly, also when the server is behind a proxy.
  const connect = logConnect(openConnector(), "service", log);
  const host = hostHeader === "public" ? null : hostHeader ?? forward.host;
  const timeoutMs = forwardTimeout * 1000;
  return {
    name: `${forward.origin}${forward.pathname === "/" ? "" : forward.pathname}${forward.search}`,
    async forward(capture) {
      const body = streamCaptured(api, viewId, capture);
      try {
        return await deliver({ connect, service: forward, viewId, capture, body, hostHeader: host, timeoutMs, signal });
      } catch (error) {
        if (error instanceof NotDelivered) return error;
        throw error;
      }
    },
  };
}

/** Describes the result of a delivery, in lines for people. */
export function describeDelivery(captureId: string, name: string, delivered: Delivered | NotDelivered): string[] {
  if (delivered instanceof NotDelivered) return [printable(delivered.message), ""];
  const { status, statusText, durationMs, size, body, contentType } = delivered;
  const about = [`${status} ${printable(statusText)}`.trim(), formatDuration(durationMs), formatBytes(size)];
  return [`Response of ${name} to capture ${captureId}: ${about.join(", ")}`, ...formatBody(body, contentType), ""];
}

/** Describes the result of a delivery, as an event. */
export function reportDelivery(captureId: string, service: string, delivered: Delivered | NotDelivered): object {
  if (delivered instanceof NotDelivered) {
    return { event: "delivery_failed", capture: captureId, target: service, reason: delivered.message };
  }
  const { status, durationMs, size, body } = delivered;
  const shown = new TextDecoder().decode(body.bytes);
  return { event: "delivered", capture: captureId, target: service, status, durationMs, size, body: shown };
}
