import { visit, type VisitInit } from "./kit/mod.ts";

/** What a browser says that it takes. */
export const PAGE = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

/** An answer with its text. */
export interface Answer {
  status: number;
  text: string;
  /** A header field; "" when it is not there. */
  header(name: string): string;
}

/** Asks for a URL as a browser does for a page, unless `init` says otherwise. */
export async function openPage(url: string, init: VisitInit = {}): Promise<Answer> {
  const answer = await visit(url, { ...init, headers: { ...PAGE, ...init.headers } });
  return { status: answer.status, text: await answer.text(), header: (name) => String(answer.headers[name] ?? "") };
}
