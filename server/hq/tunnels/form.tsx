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
import { CheckField, FieldSet, type Html, Notice, PageHead, Panel, TextField } from "../ui/mod.ts";
import { PlanNotice } from "./list.tsx";
import { formatPorts, parsePorts } from "./ports.ts";
import type { TunnelInfo, TunnelManagement } from "../../relay/mod.ts";

/** Adds the pages that create and edit a tunnel. */
export function addTunnelForms(app: HqApp, tunnels: TunnelManagement): void {
  app.get("/tunnels/new", (context) => serveNew(context, { ...EMPTY_FORM, values: NEW_VALUES }));
  app.post("/tunnels", async (context) => {
    const viewer = requireViewer(context);
    const fields = await readForm(context);
    const name = textOf(fields, "name").trim(), read = readTunnelForm(fields);
    if ("problems" in read) {
      return serveNew(context, { ...read, problems: { ...findNameProblem(tunnels, name), ...read.problems } });
    }
    try {
      const { id } = await tunnels.create(viewer, { name, ...read });
      return goTo(`/tunnels/${id}?done=created`);
    } catch (error) {
      return serveNew(context, refuseForm(fields, error, FIELDS));
    }
  });
  app.get("/tunnels/:id/edit", async (context) => {
    const tunnel = await tunnels.get(requireViewer(context), context.req.param("id"));
    return serveEdit(context, tunnel, { ...EMPTY_FORM, values: valuesOf(tunnel) });
  });
  app.post("/tunnels/:id/edit", async (context) => {
    const viewer = requireViewer(context);
    const tunnel = await tunnels.get(viewer, context.req.param("id"));
    const fields = await readForm(context);
    const read = readTunnelForm(fields);
    if ("problems" in read) return serveEdit(context, tunnel, read);
    try {
      await tunnels.update(viewer, tunnel.id, read);
      return goTo(`/tunnels/${tunnel.id}?done=changed`);
    } catch (error) {
      return serveEdit(context, tunnel, refuseForm(fields, error, FIELDS));
    }
  });
}

/** A tunnel's settings without its name. */
interface TunnelSettings {
  defaultPort: number;
  allowedPorts: "all" | number[];
  enabled: boolean;
}

const FIELDS = ["name", "defaultPort", "allowedPorts"];
const NEW_VALUES = { ports: "all", enabled: "yes" };

function valuesOf({ defaultPort, allowedPorts, enabled }: TunnelInfo): Record<string, string> {
  return {
    defaultPort: String(defaultPort),
    ports: allowedPorts === "all" ? "all" : "some",
    allowedPorts: allowedPorts === "all" ? "" : formatPorts(allowedPorts),
    ...(enabled && { enabled: "yes" }),
  };
}

/** Returns a name's problem, so that one response names every problem. */
function findNameProblem(tunnels: TunnelManagement, name: string): FormProblems {
  try {
    tunnels.checkName(name);
    return {};
  } catch (error) {
    return refuseForm(new URLSearchParams(), error, FIELDS).problems;
  }
}

/** Parses a tunnel form, without its name. Returns the form with its problems when there are any. */
function readTunnelForm(fields: URLSearchParams): TunnelSettings | FormState {
  const problems: Record<string, string> = {};
  const portText = textOf(fields, "defaultPort").trim();
  const defaultPort = /^\d{1,5}$/.test(portText) ? Number(portText) : 0;
  if (defaultPort < 1 || defaultPort > 65535) problems.defaultPort = "A port is a number from 1 to 65535.";
  const listed = fields.get("ports") === "some" ? parsePorts(textOf(fields, "allowedPorts")) : "all" as const;
  const isListed = Array.isArray(listed);
  if (!isListed && listed !== "all") problems.allowedPorts = listed;
  if (isListed && problems.defaultPort === undefined && !listed.includes(defaultPort)) {
    problems.allowedPorts = `The list must include the default port, ${defaultPort}.`;
  }
  if (Object.keys(problems).length > 0) return { values: Object.fromEntries(fields), problems, status: 400 };
  return { defaultPort, allowedPorts: isListed ? listed : "all", enabled: fields.has("enabled") };
}

function serveNew(context: HqContext, form: FormState): Response {
  const viewer = requireViewer(context);
  return servePage(context, {
    title: "New tunnel",
    section: "tunnels",
    status: form.status,
    content: (
      <>
        <PageHead title="New tunnel" back={{ href: "/tunnels", text: "Tunnels" }} />
        {viewer.account.plan === "free" && <PlanNotice viewer={viewer} />}
        <TunnelFormPanel action="/tunnels" form={form} submit="Create the tunnel" cancel="/tunnels" isNew />
      </>
    ),
  });
}

function serveEdit(context: HqContext, { id, name }: TunnelInfo, form: FormState): Response {
  return servePage(context, {
    title: `Edit ${name}`,
    section: "tunnels",
    status: form.status,
    content: (
      <>
        <PageHead title={`Edit ${name}`} back={{ href: `/tunnels/${id}`, text: name }} />
        <TunnelFormPanel
          action={`/tunnels/${id}/edit`}
          form={form}
          submit="Save"
          cancel={`/tunnels/${id}`}
        />
      </>
    ),
  });
}

interface TunnelFormPanelProps {
  action: string;
  form: FormState;
  submit: string;
  cancel: string;
  /** Whether the form creates a tunnel. Its name cannot change later, because its URL contains the name. */
  isNew?: boolean;
}

function TunnelFormPanel({ action, form: { values, problems }, submit, cancel, isNew }: TunnelFormPanelProps): Html {
  return (
    <Panel>
      {problems.form !== undefined && <Notice tone="bad">{problems.form}</Notice>}
      <form method="post" action={action} class="fields form-width">
        {isNew && (
          <TextField
            label="Name"
            name="name"
            value={values.name}
            error={problems.name}
            hint="Lower-case letters, digits and single dashes. The URL begins with the name, so it cannot change later."
            maxlength={40}
            autocomplete="off"
            required
            autofocus
            mono
          />
        )}
        <TextField
          label="Default port"
          name="defaultPort"
          value={values.defaultPort}
          error={problems.defaultPort}
          hint="The port on your machine for requests that name none."
          placeholder="3000"
          inputmode="numeric"
          maxlength={5}
          autocomplete="off"
          required
          mono
        />
        <AllowedPorts values={values} problems={problems} />
        <CheckField
          name="enabled"
          label="Enabled"
          hint="A disabled tunnel returns 403, even while a client is connected."
          checked={values.enabled !== undefined}
        />
        <div class="buttons">
          <button type="submit" class="primary">{submit}</button>
          <a class="button" href={cancel}>Cancel</a>
        </div>
      </form>
    </Panel>
  );
}

function AllowedPorts({ values, problems }: Pick<FormState, "values" | "problems">): Html {
  return (
    <FieldSet legend="Allowed ports">
      <CheckField
        name="ports"
        value="all"
        label="All"
        hint="This tunnel may expose every port on your machine."
        checked={values.ports !== "some"}
        isRadio
      />
      <CheckField name="ports" value="some" label="Only these" checked={values.ports === "some"} isRadio />
      <div class="indent">
        <TextField
          label="Ports"
          name="allowedPorts"
          value={values.allowedPorts}
          error={problems.allowedPorts}
          hint="Numbers and ranges, including the default port."
          placeholder="3000, 8080-8083"
          autocomplete="off"
          mono
        />
      </div>
    </FieldSet>
  );
}
