import type { ApiObject } from "../../../common/open_api.ts";
import { servePage } from "../page.tsx";
import type { HqApp } from "../types.ts";
import { Badge, type Html, PageHead, Panel, Table } from "../ui/mod.ts";
import { fieldsOf, type Group, type Operation, readGroups } from "./document.ts";

/** Adds the API reference. @param readApi returns this server's OpenAPI document */
export function addApiDocs(app: HqApp, readApi: () => Promise<ApiObject>): void {
  let groups: readonly Group[] | null = null;
  app.get("/api-docs", async (context) => {
    groups ??= readGroups(await readApi());
    return servePage(context, {
      title: "API",
      styles: ["docs.css"],
      content: (
        <>
          <PageHead
            title="API"
            about={
              <>
                All that clients do, for programs of your own, as OpenAPI 3.1:{" "}
                <a href="/api/v1/openapi.json">/api/v1/openapi.json</a>. Send a token as{" "}
                <code>Authorization: Bearer</code>; you make one in <a href="/account/tokens">your account</a>.
              </>
            }
          />
          <div class="docs">
            <nav aria-label="Parts of the API" class="contents">
              {groups.map(({ name }) => <a key={name} href={`#${name}`}>{name}</a>)}
            </nav>
            <div>{groups.map((group) => <GroupPanel key={group.name} group={group} />)}</div>
          </div>
        </>
      ),
    });
  });
}

function GroupPanel({ group: { name, description, operations } }: { group: Group }): Html {
  return (
    <Panel title={name} about={description} id={name} flush>
      {operations.map((operation) => <OperationPart key={operation.id} operation={operation} />)}
    </Panel>
  );
}

function OperationPart({ operation }: { operation: Operation }): Html {
  const { id, method, path, summary, description, parameters, body, responses } = operation;
  return (
    <details class="operation" id={id}>
      <summary>
        <Badge tone={method === "GET" ? "good" : method === "DELETE" ? "bad" : "accent"}>{method}</Badge>
        <code>{breakable(path)}</code>
        <span>{summary}</span>
      </summary>
      <div class="inner">
        {description !== "" && <p>{description}</p>}
        {parameters.length > 0 && (
          <>
            <h3>Parameters</h3>
            <FieldTable
              caption={`Parameters of ${method} ${path}`}
              fields={parameters.map((one) => ({ ...one, type: `${one.type} (${one.place})` }))}
            />
          </>
        )}
        {body.map(({ mediaType, schema }) => (
          <SchemaPart
            key={mediaType}
            title={`Body, ${mediaType}`}
            schema={schema}
          />
        ))}
        <h3>Responses</h3>
        {responses.map(({ status, description: what, schema }) => (
          <div key={status} class="response">
            <p>
              <b>{status}</b> {what}
            </p>
            {status.startsWith("2") && schema !== null && <SchemaPart schema={schema} />}
          </div>
        ))}
      </div>
    </details>
  );
}

/** Breaks a long path between its parts, not inside a word. */
const breakable = (path: string): Html[] =>
  path.split(/(?=\/)/).map((part) => (
    <>
      <wbr />
      {part}
    </>
  ));

function SchemaPart({ title, schema }: { title?: string; schema: ApiObject | null }): Html {
  const fields = schema === null ? [] : fieldsOf(schema);
  return (
    <>
      {title !== undefined && <h3>{title}</h3>}
      {fields.length > 0 && <FieldTable caption={title ?? "Response fields"} fields={fields} />}
    </>
  );
}

interface FieldRow {
  name: string;
  type: string;
  isRequired: boolean;
  description: string;
}

function FieldTable({ caption, fields }: { caption: string; fields: readonly FieldRow[] }): Html {
  return (
    <Table
      caption={caption}
      rows={fields}
      keyOf={({ name }) => name}
      columns={[
        {
          head: "Name",
          cell: ({ name, isRequired }) => (
            <>
              <code>{name}</code>
              {isRequired && <small>required</small>}
            </>
          ),
        },
        { head: "Type", cell: ({ type }) => <code>{type}</code> },
        { head: "Meaning", cell: ({ description }) => description },
      ]}
    />
  );
}
