import type { FetchInfo } from "../../common/fetch_target.ts";
import { HttpError, methodNotAllowed } from "../../common/http_error.ts";
import type { WriteRoutes } from "./change/write_routes.ts";
import { noSuchEntry } from "./disk/fs_error.ts";
import type { SharePath } from "./disk/share_path.ts";
import { withoutBody } from "../../net/file_http/mod.ts";
import { renderDropPage } from "./page/drop_page.ts";
import type { ShareFacts } from "./page/page.ts";
import { isForm } from "./upload/form.ts";

/** A folder that visitors add to without seeing it: how it is written to, and what its page says. */
export interface DropRoutesOptions {
  write: WriteRoutes;
  facts: ShareFacts;
}

/** Answers one request, or rejects with `HttpError`. */
export type DropRoutes = (request: Request, path: SharePath, info: FetchInfo) => Promise<Response>;

const METHODS = "GET, HEAD, POST, PUT, OPTIONS";

/**
 * Answers for a share that visitors put files into and see nothing of: no name, no size, and not even whether a name
 * is taken, since a file whose name is gets another one. Whoever sends a part of a file needs the id of its upload.
 */
export function createDropRoutes({ write, facts }: DropRoutesOptions): DropRoutes {
  return async (request, path, info) => {
    const { segments, query } = path;
    const isAsking = query.has("upload") && query.get("upload") !== "" && segments.length === 1;
    switch (request.method) {
      case "OPTIONS":
        return new Response(null, { status: 204, headers: { allow: METHODS } });
      case "GET":
      case "HEAD": {
        if (isAsking) return await write.answer(request, path, info);
        if (segments.length > 0) throw noSuchEntry();
        const page = renderDropPage(facts);
        return request.method === "HEAD" ? await withoutBody(page) : page;
      }
      case "PUT":
        if (segments.length !== 1 || (request.headers.has("content-range") && !isAsking)) throw onlyAdding();
        return await write.add(request, path, info);
      case "POST":
        if (segments.length > 0 || !isForm(request)) throw onlyAdding();
        return await write.add(request, path, info);
      case "DELETE":
        if (isAsking) return await write.answer(request, path, info);
        throw onlyAdding();
    }
    throw methodNotAllowed(METHODS);
  };
}

function onlyAdding(): HttpError {
  return new HttpError(403, "drop_only", "This share only takes new files.");
}
