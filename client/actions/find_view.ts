import type { ApiClient } from "../api/mod.ts";
import { alignFields } from "../terminal/mod.ts";
import { chooseView, parseViews, type ViewRecord } from "../views/mod.ts";

/** Fetches the account's views, oldest first. @throws the API client's errors */
export async function fetchViews(api: Pick<ApiClient, "get">): Promise<ViewRecord[]> {
  return parseViews(await api.get("/api/v1/views"));
}

/** Finds a view by id, by the beginning of an id, or by name. @throws NoSuchView */
export async function findView(api: Pick<ApiClient, "get">, given: string): Promise<ViewRecord> {
  return chooseView(await fetchViews(api), given);
}

/** Describes a view in lines for people. @param more fields beside its addresses */
export function describeView(view: ViewRecord, more: readonly (readonly [string, string])[] = []): string[] {
  return alignFields([
    ["Name", view.name],
    ["ID", view.id],
    ["Capture URL", view.captureUrl],
    ["Browser URL", view.browserUrl],
    ...more,
  ]);
}
