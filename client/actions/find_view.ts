import type { ApiClient } from "../api/mod.ts";
import { alignFields } from "../terminal/mod.ts";
import { chooseView, parseViews, type ViewRecord } from "../views/mod.ts";

/** The account's views, oldest first. @throws what the API does */
export async function fetchViews(api: Pick<ApiClient, "get">): Promise<ViewRecord[]> {
  return parseViews(await api.get("/api/v1/views"));
}

/** The view that the user means by an id, the beginning of one, or a name. @throws NoSuchView */
export async function findView(api: Pick<ApiClient, "get">, given: string): Promise<ViewRecord> {
  return chooseView(await fetchViews(api), given);
}

/** What is to be known of a view, in lines for people. @param more fields besides its addresses */
export function describeView(view: ViewRecord, more: readonly (readonly [string, string])[] = []): string[] {
  return alignFields([
    ["Name", view.name],
    ["ID", view.id],
    ["Capture URL", view.captureUrl],
    ["Browser URL", view.browserUrl],
    ...more,
  ]);
}
