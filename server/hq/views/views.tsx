import { formatBytes } from "../../../common/format.ts";
import type { DescribedView, ViewService } from "../../captures/mod.ts";
import {
  doneNotice,
  EMPTY_FORM,
  type FormState,
  goTo,
  readForm,
  refuseForm,
  requireViewer,
  servePage,
  textOf,
} from "../page.tsx";
import type { HqApp, HqContext } from "../types.ts";
import { Commands, CopyText, EmptyState, type Html, PageHead, Panel, Table, TextField, Time } from "../ui/mod.ts";

/** Adds the account's view list with the form for a new one. */
export function addViewList(app: HqApp, service: ViewService): void {
  app.get("/views", (context) => showViews(context, service, EMPTY_FORM));
  app.post("/views", async (context) => {
    const viewer = requireViewer(context), fields = await readForm(context);
    try {
      const { id } = await service.create(viewer, { name: textOf(fields, "name").trim() || null });
      return goTo(`/views/${id}/capture`);
    } catch (error) {
      return await showViews(context, service, refuseForm(fields, error, ["name"]));
    }
  });
}

async function showViews(context: HqContext, service: ViewService, form: FormState): Promise<Response> {
  const list = await service.list(requireViewer(context));
  return servePage(context, {
    title: "Request views",
    section: "views",
    status: form.status,
    styles: ["capture.css"],
    content: (
      <>
        <PageHead title="Request views" about="Addresses that capture every request, so that you can inspect it." />
        {doneNotice(context, { removed: "The view and its captures are deleted." })}
        <NewView form={form} />
        {list.length === 0 ? <NoViews server={context.var.site.url.origin} /> : <ViewTable views={list} />}
      </>
    ),
  });
}

function NewView({ form }: { form: FormState }): Html {
  return (
    <Panel title="New view">
      <form method="post" action="/views" class="new-view">
        <TextField
          label="Name"
          name="name"
          value={form.values.name}
          maxlength={100}
          autocomplete="off"
          hint="Optional. Without a name, the view is numbered."
          error={form.problems.name ?? form.problems.form}
        />
        <button type="submit" class="primary">Create view</button>
      </form>
    </Panel>
  );
}

function NoViews({ server }: { server: string }): Html {
  return (
    <EmptyState
      icon="inbox"
      title="No views yet"
      action={
        <Commands
          commands={[
            ["Make one from the terminal", `portway --views-add hooks --server ${server}`],
            ["and have its calls sent on to your own service", "portway --views-tail hooks --forward localhost:3000"],
          ]}
        />
      }
    >
      A view has its own address. Give it to a webhook, a form or a device, and watch calls arrive.
    </EmptyState>
  );
}

function ViewTable({ views }: { views: readonly DescribedView[] }): Html {
  return (
    <Panel flush>
      <div id="view-table" data-live>
        <Table
          caption="Your request views"
          rows={views.toReversed()}
          keyOf={({ id }) => id}
          columns={[
            { head: "Name", cell: ({ id, name }) => <a class="strong" href={`/views/${id}/capture`}>{name}</a> },
            {
              head: "Capture URL",
              cell: ({ captureUrl, name }) => <CopyText text={captureUrl} label={`the capture URL of ${name}`} />,
            },
            { head: "Calls", align: "end", cell: ({ captures, bytes }) => `${captures} (${formatBytes(bytes)})` },
            {
              head: "Last call",
              cell: ({ lastCaptureAt }) =>
                lastCaptureAt === null ? "none yet" : <Time ms={Date.parse(lastCaptureAt)} />,
            },
          ]}
        />
      </div>
    </Panel>
  );
}
