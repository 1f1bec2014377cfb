import { OptionError } from "../../common/options.ts";
import { listenForStop } from "../../common/stop_signal.ts";
import type { ActionContext } from "../action.ts";
import { findView } from "./find_view.ts";
import { describeDelivery, openForwarder, reportDelivery } from "./forward_capture.ts";
import { openApi } from "../open_api.ts";
import { NotDelivered, parseCapture } from "../views/mod.ts";
import { withReporter } from "./with_reporter.ts";

/**
 * Runs `--views-replay`: sends one captured call to the `--forward` service again.
 * @returns the exit code
 * @throws OptionError without `--forward`; LoginNeeded, ApiRefused, ApiUnreachable
 */
export async function replayCapture(context: ActionContext): Promise<number> {
  const { config } = context;
  const [given, captureId] = config.viewsReplay ?? ["", ""];
  if (config.forward === null) {
    throw new OptionError("--views-replay needs the service to send to: --forward <port|url>");
  }
  return await withReporter(context, async ({ reporter, ...options }) => {
    const { api } = await openApi(options);
    const view = await findView(api, given);
    const path = `/api/v1/views/${view.id}/captures/${encodeURIComponent(captureId)}`;
    const capture = parseCapture(await api.get(path));
    const stop = listenForStop();
    try {
      const forwarder = openForwarder(config, api, view, stop.signal, context.log);
      if (forwarder === null) return 1;
      const delivered = await forwarder.forward(capture);
      const { event, ...fields } = { event: "", ...reportDelivery(capture.id, forwarder.name, delivered) };
      reporter.report(event, fields, describeDelivery(capture.id, forwarder.name, delivered));
      return delivered instanceof NotDelivered ? 1 : 0;
    } finally {
      stop.release();
    }
  });
}
