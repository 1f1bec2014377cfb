import type { Accounts } from "../../accounts/mod.ts";
import { EntryCard } from "../entry/sign_in.tsx";
import { EMPTY_FORM, type FormState, goTo, readForm, refuseForm, requireViewer, servePage, textOf } from "../page.tsx";
import type { HqApp, HqContext } from "../types.ts";
import { TextField } from "../ui/mod.ts";
import { ConsentCard, readResponse } from "./consent_card.tsx";

/** Adds the page that authorizes a client without a browser, by the code that it shows. */
export function addDevice(app: HqApp, { consent }: Accounts): void {
  app.get("/device", async (context) => {
    const viewer = requireViewer(context);
    const done = context.req.query("done");
    if (done !== undefined) return serveDone(context, done === "authorized");
    const code = (context.req.query("user_code") ?? "").trim();
    if (code === "") return serveCodeForm(context, EMPTY_FORM);
    try {
      const request = await consent.describeDevice(context.env.exchange, code);
      return servePage(context, {
        title: `Authorize ${request.client}`,
        shape: "narrow",
        content: <ConsentCard action="/device" request={request} viewer={viewer} values={{ user_code: code }} />,
      });
    } catch (error) {
      return serveCodeForm(context, refuseForm(new URLSearchParams({ user_code: code }), error));
    }
  });
  app.post("/device", async (context) => {
    requireViewer(context);
    const fields = await readForm(context);
    const decision = readResponse(fields);
    try {
      await consent.decideDevice(context.env.exchange, { code: textOf(fields, "user_code"), ...decision });
      return goTo(`/device?done=${decision.accept ? "authorized" : "denied"}`);
    } catch (error) {
      return serveCodeForm(context, refuseForm(fields, error));
    }
  });
}

function serveCodeForm(context: HqContext, { values, problems, status }: FormState): Response {
  return servePage(context, {
    title: "Connect a device",
    shape: "narrow",
    status,
    content: (
      <EntryCard title="Connect a device" lead="Enter the code that the client shows.">
        <form method="get" action="/device" class="fields">
          <TextField
            label="Code"
            name="user_code"
            value={values.user_code}
            error={problems.form}
            autocomplete="off"
            class="code-input"
            maxlength={20}
            required
            autofocus
          />
          <button type="submit" class="primary full">Continue</button>
        </form>
      </EntryCard>
    ),
  });
}

function serveDone(context: HqContext, isAuthorized: boolean): Response {
  return servePage(context, {
    title: isAuthorized ? "Device connected" : "Device refused",
    shape: "narrow",
    content: (
      <EntryCard
        title={isAuthorized ? "Device connected" : "Device refused"}
        lead={isAuthorized
          ? "The client goes on by itself in a moment. You can close this page."
          : "You can close this page."}
        below={<a href="/account/clients">Authorised clients</a>}
      />
    ),
  });
}
