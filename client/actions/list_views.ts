import { formatBytes } from "../../common/format.ts";
import type { ActionContext } from "../action.ts";
import { askLine, isAttended } from "./ask_line.ts";
import { describeView, fetchViews } from "./find_view.ts";
import { openApi } from "../open_api.ts";
import type { Reporter } from "../terminal/mod.ts";
import type { ViewRecord } from "../views/mod.ts";
import { withReporter } from "./with_reporter.ts";

/** Runs `--views-list`: prints the account's views with numbers; typing a number shows that view. */
export async function listViews(context: ActionContext): Promise<number> {
  return await withReporter(context, async ({ reporter, ...options }) => {
    const { api } = await openApi(options);
    const views = await fetchViews(api);
    reporter.report("views", { views }, views.length === 0 ? NONE : views.flatMap(listOne));
    if (context.config.json || views.length === 0 || !isAttended()) return 0;
    await reporter.flush();
    await showDetails(views, reporter);
    return 0;
  });
}

const NONE = ["There are no request views in this account: portway --views-add makes one."];

const listOne = (view: ViewRecord, at: number) => [
  `${String(at + 1).padStart(3)}  ${view.name}`,
  `     ${view.captureUrl}`,
];

/** Shows views until a line without a number. */
async function showDetails(views: readonly ViewRecord[], reporter: Reporter): Promise<void> {
  for (;;) {
    const line = (await askLine("Number of a view for its details, or Enter: "))?.trim() ?? "";
    if (line === "") return;
    const view = views[Number(line) - 1];
    if (view === undefined) reporter.note(`There is no number ${line} in the list.`);
    else reporter.report("view", { ...view }, describeView(view, stateOf(view)));
    await reporter.flush();
  }
}

function stateOf(view: ViewRecord): [string, string][] {
  return [
    ["Created", new Date(view.createdAt).toLocaleString()],
    ["Captures", `${view.captures} (${formatBytes(view.bytes)}), at most ${view.maxCaptures}`],
    ["Last one", view.lastCaptureAt === null ? "none yet" : new Date(view.lastCaptureAt).toLocaleString()],
    ["Kept for", `${view.retentionDays} days`],
    ["Answers", String(view.status)],
  ];
}
