import type { Accounts } from "../../accounts/mod.ts";
import { formTargetsOf } from "../entry/sign_in.tsx";
import { goTo, readForm, requireViewer, servePage, textOf } from "../page.tsx";
import type { HqApp } from "../types.ts";
import { ConsentCard, readResponse } from "./consent_card.tsx";

/** Adds the consent page for a client's login. */
export function addAuthorize(app: HqApp, { consent }: Accounts): void {
  app.get("/authorize", async (context) => {
    const query = new URL(context.req.url).search.slice(1);
    const viewer = requireViewer(context);
    const request = await consent.describe(query);
    return servePage(context, {
      title: `Authorize ${request.client}`,
      shape: "narrow",
      formTargets: formTargetsOf(query),
      content: <ConsentCard action="/authorize" request={request} viewer={viewer} values={{ query }} />,
    });
  });
  app.post("/authorize", async (context) => {
    requireViewer(context);
    const fields = await readForm(context);
    const { next } = await consent.decide(context.env.exchange, {
      query: textOf(fields, "query"),
      ...readResponse(fields),
    });
    return goTo(next ?? "/account/clients");
  });
}
