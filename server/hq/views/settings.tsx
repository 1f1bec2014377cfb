import { CHALLENGES, type DescribedView, type ViewService } from "../../captures/mod.ts";
import { badField } from "../../http/mod.ts";
import {
  EMPTY_FORM,
  type FormProblems,
  type FormState,
  goTo,
  readForm,
  refuseForm,
  requireViewer,
  servePage,
  textOf,
} from "../page.tsx";
import type { HqApp, HqContext } from "../types.ts";
import {
  AskButton,
  AskDialog,
  CheckField,
  type Html,
  Notice,
  PageHead,
  Panel,
  SelectField,
  TextField,
} from "../ui/mod.ts";

/** API fields with the form fields that set them. */
const FIELDS: Readonly<Record<string, string>> = {
  "name": "name",
  "answer.status": "status",
  "answer.headers": "headers",
  "answer.body": "body",
  "answer.delayMs": "delay",
  "answer.challenge": "challenge",
  "answer.challengeSecret": "secret",
  "retentionDays": "days",
  "maxCaptures": "captures",
};

/** Adds a view's settings page and the form that deletes the view. */
export function addViewSettings(app: HqApp, views: ViewService): void {
  app.get("/views/:id/settings", async (context) => {
    const view = await views.get(requireViewer(context), context.req.param("id"));
    return showSettings(context, view, { ...EMPTY_FORM, values: toValues(view) });
  });
  app.post("/views/:id/settings", async (context) => {
    const viewer = requireViewer(context), id = context.req.param("id"), fields = await readForm(context);
    try {
      checkHeaderLines(fields);
      await views.change(viewer, id, toChanges(fields));
      return goTo(`/views/${id}/capture?done=saved`);
    } catch (error) {
      const form = refuseForm(fields, error, Object.keys(FIELDS).concat(headerFields(fields)));
      return showSettings(context, await views.get(viewer, id), { ...form, problems: renameProblems(form.problems) });
    }
  });
  app.post("/views/:id/delete", async (context) => {
    await views.remove(requireViewer(context), context.req.param("id"));
    return goTo("/views?done=removed");
  });
}

function toValues({ name, answer, retentionDays, maxCaptures }: DescribedView): Record<string, string> {
  return {
    name,
    status: String(answer.status),
    headers: answer.headers.map(([header, value]) => `${header}: ${value}`).join("\n"),
    body: answer.body,
    delay: String(answer.delayMs),
    ...(answer.cors && { cors: "yes" }),
    ...(answer.template && { template: "yes" }),
    challenge: answer.challenge ?? "",
    ...(answer.hasChallengeSecret && { hasSecret: "yes" }),
    days: String(retentionDays),
    captures: String(maxCaptures),
  };
}

/** Returns a form's changes for the API. An invalid number becomes -1, which the API refuses. */
function toChanges(fields: URLSearchParams): unknown {
  const challenge = textOf(fields, "challenge"), secret = textOf(fields, "secret");
  const count = (name: string) => /^\d{1,9}$/.test(textOf(fields, name).trim()) ? Number(textOf(fields, name)) : -1;
  return {
    name: textOf(fields, "name"),
    answer: {
      status: count("status"),
      headers: headerLines(fields).map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
      }),
      body: textOf(fields, "body").replaceAll("\r\n", "\n"),
      delayMs: count("delay"),
      cors: textOf(fields, "cors") === "yes",
      template: textOf(fields, "template") === "yes",
      challenge: challenge === "" ? null : challenge,
      // An empty field keeps the stored secret.
      ...(challenge === "" ? { challengeSecret: null } : secret !== "" && { challengeSecret: secret }),
    },
    retentionDays: count("days"),
    maxCaptures: count("captures"),
  };
}

/** @throws HttpError 400 that names the field, for a line without a name and a colon */
function checkHeaderLines(fields: URLSearchParams): void {
  const wrong = headerLines(fields).find((line) => line.indexOf(":") <= 0);
  if (wrong === undefined) return;
  throw badField("answer.headers", `has a line without a colon: "${wrong.slice(0, 60)}"`);
}

const headerLines = (fields: URLSearchParams) =>
  textOf(fields, "headers").split("\n").map((line) => line.trim()).filter((line) => line !== "");

/** Lists the names that the API gives to each header line's parts. */
const headerFields = (fields: URLSearchParams) =>
  headerLines(fields).flatMap((_, at) => [0, 1].map((part) => `answer.headers.${at}.${part}`));

function renameProblems(problems: FormProblems): FormProblems {
  return Object.fromEntries(
    Object.entries(problems).map(([field, text]) => [FIELDS[field.replace(/(?:\.\d+)+$/, "")] ?? field, text]),
  );
}

function showSettings(context: HqContext, view: DescribedView, { values, problems, status }: FormState): Response {
  return servePage(context, {
    title: `Settings of ${view.name}`,
    section: "views",
    status,
    styles: ["capture.css"],
    content: (
      <>
        <PageHead title="Settings" about={view.name} back={{ href: `/views/${view.id}/capture`, text: view.name }} />
        {problems.form && <Notice tone="bad">{problems.form}</Notice>}
        <form method="post" action={`/views/${view.id}/settings`} class="view-settings">
          <Panel title="View">
            <TextField label="Name" name="name" value={values.name} error={problems.name} maxlength={100} required />
          </Panel>
          <Panel title="Response" about="Callers get it once their call is stored.">
            <Answer values={values} problems={problems} />
          </Panel>
          <Panel title="Retention" about="The oldest calls are deleted first.">
            <div class="fields">
              <Count label="Days" name="days" values={values} problems={problems} />
              <Count label="Calls at most" name="captures" values={values} problems={problems} />
            </div>
          </Panel>
          <button type="submit" class="primary">Save</button>
        </form>
        <Panel title="Delete this view" about="Its address stops working, and its captures are deleted.">
          <AskButton dialog="delete" page={`/views/${view.id}/settings`} class="danger">Delete view</AskButton>
        </Panel>
        <AskDialog
          id="delete"
          page={`/views/${view.id}/settings`}
          title={`Delete ${view.name}?`}
          action={`/views/${view.id}/delete`}
          confirm="Delete view"
          asked={context.req.query("ask")}
        >
          <p>Its address stops working, and its captures are deleted. This cannot be undone.</p>
        </AskDialog>
      </>
    ),
  });
}

interface FormProps {
  values: Readonly<Record<string, string>>;
  problems: FormProblems;
}

function Answer({ values, problems }: FormProps): Html {
  return (
    <div class="fields">
      <Count label="Status" name="status" values={values} problems={problems} />
      <TextBox
        label="Headers"
        name="headers"
        hint="One a line, as in Content-Type: text/plain"
        rows={4}
        {...{ values, problems }}
      />
      <TextBox
        label="Body"
        name="body"
        hint="With status 200 and no headers, an empty body becomes a short JSON."
        rows={8}
        {...{ values, problems }}
      />
      <Count label="Delay in milliseconds" name="delay" values={values} problems={problems} />
      <CheckField
        label="Pages on other origins may call it and read the response (CORS)"
        name="cors"
        checked={values.cors === "yes"}
      />
      <CheckField
        label="Fill in placeholders"
        name="template"
        checked={values.template === "yes"}
        hint="Such as {{query.challenge}}, {{header.x-hook-secret}} or {{json.items.0.id}}."
      />
      <SelectField
        label="Verification challenge"
        name="challenge"
        value={values.challenge}
        error={problems.challenge}
        hint="The view responds to this provider's challenge, and to all other calls as configured above."
        options={CHALLENGE_OPTIONS}
      />
      <TextField
        label="Secret for the challenge"
        name="secret"
        type="password"
        autocomplete="off"
        error={problems.secret}
        hint={values.hasSecret === "yes"
          ? "A secret is stored. Leave this empty to keep it."
          : "Zoom's secret token or Meta's verify token."}
      />
    </div>
  );
}

const PROVIDERS: Readonly<Record<typeof CHALLENGES[number], string>> = {
  dropbox: "Dropbox",
  meta: "Meta (Facebook, Instagram, WhatsApp)",
  microsoft: "Microsoft Graph",
  slack: "Slack",
  zoom: "Zoom",
};

const CHALLENGE_OPTIONS = [
  { value: "", label: "None" },
  ...CHALLENGES.map((value) => ({ value, label: PROVIDERS[value] })),
];

function Count({ label, name, values, problems }: FormProps & { label: string; name: string }): Html {
  return <TextField {...{ label, name }} value={values[name]} error={problems[name]} inputmode="numeric" required />;
}

function TextBox(
  { label, name, hint, rows, values, problems }: FormProps & {
    label: string;
    name: string;
    hint: string;
    rows: number;
  },
): Html {
  const problem = problems[name];
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <textarea
        id={name}
        name={name}
        rows={rows}
        class="mono"
        spellcheck={false}
        aria-describedby={problem === undefined ? `${name}-hint` : `${name}-problem ${name}-hint`}
        aria-invalid={problem === undefined ? undefined : "true"}
      >
        {values[name]}
      </textarea>
      {problem && <p class="problem" id={`${name}-problem`}>{problem}</p>}
      <p class="hint" id={`${name}-hint`}>{hint}</p>
    </div>
  );
}
