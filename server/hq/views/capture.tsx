import { RELEASE } from "../../../common/release.ts";
import type { DescribedView, ViewService } from "../../captures/mod.ts";
import { doneNotice, goTo, requireViewer, servePage } from "../page.tsx";
import type { HqApp, HqContext } from "../types.ts";
import { AskButton, AskDialog, CopyText, type Html, PageHead } from "../ui/mod.ts";

/** Adds a view's capture page and each capture's address. Scripts fill the list. */
export function addCapturePage(app: HqApp, views: ViewService): void {
  app.get("/views/:id", (context) => goTo(`/views/${encodeURIComponent(context.req.param("id"))}/capture`));
  app.get("/views/:id/capture", (context) => showCaptures(context, views, ""));
  app.get("/views/:id/capture/:capture", (context) => showCaptures(context, views, context.req.param("capture")));
  app.post("/views/:id/clear", async (context) => {
    const id = context.req.param("id");
    await views.removeCaptures(requireViewer(context), id);
    return goTo(`/views/${id}/capture?done=cleared`);
  });
}

/** @param chosen the id to open, or "" */
async function showCaptures(context: HqContext, views: ViewService, chosen: string): Promise<Response> {
  const viewer = requireViewer(context), id = context.req.param("id") ?? "";
  const view = await views.get(viewer, id);
  const { captures: [newest] } = await views.search(viewer, id, { limit: 1 });
  return servePage(context, {
    title: view.name,
    section: "views",
    styles: ["capture.css"],
    scripts: ["capture_page.js"],
    content: (
      <>
        <PageHead
          title={view.name}
          back={{ href: "/views", text: "Request views" }}
          actions={<Actions view={view} />}
        />
        {doneNotice(context, {
          cleared: "All captures are deleted.",
          saved: "The settings are saved and apply from now on.",
        })}
        <CopyText text={view.captureUrl} label="the capture URL" block />
        <Captures view={view} after={newest?.cursor ?? 0} chosen={chosen} />
        <ReplayDialog />
        <AskDialog
          id="clear"
          page={`/views/${id}/capture`}
          title="Delete all captures?"
          action={`/views/${id}/clear`}
          confirm="Delete all"
          asked={context.req.query("ask")}
        >
          <p>This deletes all calls that the view captured until now. Its address keeps working.</p>
        </AskDialog>
      </>
    ),
  });
}

function Actions({ view: { id } }: { view: DescribedView }): Html {
  return (
    <>
      <a class="button" href={`/views/${id}/settings`}>Settings</a>
      <AskButton dialog="clear" page={`/views/${id}/capture`}>Delete all</AskButton>
    </>
  );
}

function Captures({ view, after, chosen }: { view: DescribedView; after: number; chosen: string }): Html {
  return (
    <div
      id="captures"
      class="captures"
      data-view={view.id}
      data-capture-url={view.captureUrl}
      data-after={String(after)}
      data-total={String(view.captures)}
      data-max={String(view.maxCaptures)}
      data-chosen={chosen}
      data-version={RELEASE}
    >
      <FilterBar />
      <noscript>
        <p class="nothing">This list needs scripts. The command line shows the same: portway --views-tail</p>
      </noscript>
      <div class="capture-panes">
        <div class="capture-side">
          <p id="capture-state" class="capture-state" role="status"></p>
          <p id="capture-undo" class="capture-undo" hidden>
            <span>Call deleted.</span>
            <button id="capture-undo-button" type="button" class="button">Undo</button>
          </p>
          <div id="capture-list" class="capture-list" role="listbox" tabindex={0} aria-label="Captured calls"></div>
          <div id="capture-none-found" class="nothing" hidden>
            <p>No call matches your search.</p>
            <button id="capture-search-all" type="button" class="button">Show all calls</button>
          </div>
          <p id="capture-empty" class="nothing" hidden>
            No calls yet. Send one, and it appears here at once:
            <CopyText text={`curl -d hello ${view.captureUrl}`} label="the command that sends a call" block />
          </p>
        </div>
        <div class="capture-main">
          <button id="capture-back" type="button" class="button back-button">Back to the list</button>
          <div id="capture-detail" class="capture-detail" role="region" aria-label="The chosen call" tabindex={0}></div>
        </div>
      </div>
    </div>
  );
}

/** The dialog that sends a call again. A script opens and fills it. */
function ReplayDialog(): Html {
  return (
    <dialog id="replay" class="dialog replay" aria-labelledby="replay-title" aria-describedby="replay-what">
      <div class="replay-inside">
        <h2 id="replay-title">Send again</h2>
        <p id="replay-what" class="replay-what"></p>
        <form id="replay-form" class="field">
          <label for="replay-url">To this URL</label>
          <input
            id="replay-url"
            type="url"
            placeholder="https://example.com/hooks"
            autocomplete="url"
            aria-describedby="replay-hint"
            maxlength={2000}
          />
          <p class="hint" id="replay-hint">
            The call's own path and query are appended. This server sends it, so it reaches public addresses only.
          </p>
          <details id="replay-edit" class="replay-edit">
            <summary>Edit before sending</summary>
            <label for="replay-method">Method</label>
            <input id="replay-method" class="mono" maxlength={32} autocomplete="off" spellcheck={false} />
            <label for="replay-path">Path and query</label>
            <input id="replay-path" class="mono" autocomplete="off" spellcheck={false} />
            <label for="replay-headers">Headers, one on each line</label>
            <textarea id="replay-headers" class="mono" rows={5} spellcheck={false}></textarea>
            <label for="replay-body">Body</label>
            <textarea id="replay-body" class="mono" rows={6} spellcheck={false}></textarea>
            <p class="hint" id="replay-body-hint" hidden>This body is binary or long, so it is sent unchanged.</p>
          </details>
          <div class="buttons">
            <button type="submit" class="primary">Send to URL</button>
            <button id="replay-view" type="button" class="button">Send to this view</button>
          </div>
        </form>
        <p id="replay-said" class="replay-said" role="status"></p>
        <div id="replay-response"></div>
        <div id="replay-command" class="replay-command">
          <p class="hint">To a service on your own machine, from its terminal:</p>
          <CopyText text="portway --views-replay" label="the command" block />
        </div>
        <div class="buttons">
          <button type="button" class="button" data-close>Close</button>
        </div>
      </div>
    </dialog>
  );
}

function FilterBar(): Html {
  return (
    <div class="capture-bar">
      <form id="capture-filter" role="search" aria-label="Search calls">
        <label class="grow">
          <span>Search</span>
          <input type="search" name="q" placeholder="In headers and body" autocomplete="off" />
        </label>
        <details class="more-filters">
          <summary>Filters</summary>
          <div>
            <label>
              <span>Method</span>
              <input type="text" name="method" list="capture-methods" size={8} autocomplete="off" />
            </label>
            <label>
              <span>Path</span>
              <input type="text" name="path" size={14} autocomplete="off" />
            </label>
            <label>
              <span>From</span>
              <input type="datetime-local" name="from" />
            </label>
            <label>
              <span>To</span>
              <input type="datetime-local" name="to" />
            </label>
          </div>
        </details>
        <datalist id="capture-methods">
          {["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"].map((name) => (
            <option
              key={name}
              value={name}
            />
          ))}
        </datalist>
      </form>
      <div class="capture-tools">
        <button id="capture-pause" type="button" class="button" aria-pressed="false">Pause</button>
        <button id="export-har" type="button" class="button">Export HAR</button>
        <button id="export-jsonl" type="button" class="button">Export JSON Lines</button>
      </div>
    </div>
  );
}
