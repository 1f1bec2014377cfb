import { USER } from "./login_kit.ts";

/** A user who has signed in on the server's site, and does there by forms what a test needs. */
export class AuthorizedUser {
  readonly #server: string;
  readonly #cookies = new Map<string, string>();

  private constructor(server: string) {
    this.#server = server;
  }

  static async signIn(server: string): Promise<AuthorizedUser> {
    const user = new AuthorizedUser(server);
    await user.#post("/sign-in", USER);
    return user;
  }

  /** Somebody new, where strangers may sign up. */
  static async signUp(server: string, email: string): Promise<AuthorizedUser> {
    const user = new AuthorizedUser(server);
    await user.#post("/sign-up", { name: "Somebody New", email, password: "another long password" });
    return user;
  }

  /** Makes a personal token that may use tunnels. */
  async createToken(): Promise<string> {
    const form = new URLSearchParams({ name: "elsewhere", scope: "tunnels:use", days: "30" });
    const url = new URL("/account/tokens", this.#server);
    const answer = await this.#send(url.href, { method: "POST", headers: { origin: url.origin }, body: form });
    const token = /pwt_[\w-]+/.exec(await answer.text())?.[0];
    if (token === undefined) throw new Error(`no token was made: ${answer.status}`);
    return token;
  }

  /** Lets a device in by its code, or refuses it. */
  async enterCode(code: string, isAllowed = true): Promise<void> {
    await this.#post("/device", { user_code: code, answer: isAllowed ? "authorize" : "deny" });
  }

  /** Opens the page of a login, answers it, and gives where the browser is sent then. */
  async authorize(url: string, isAllowed: boolean): Promise<URL> {
    const asked = await this.#send(url);
    await asked.body?.cancel();
    const page = new URL(asked.headers.get("location") ?? "", this.#server);
    const form = await (await this.#send(page.href)).text();
    const hidden = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
    const fields = Object.fromEntries(hidden.map(([, name, value]) => [name, value.replaceAll("&amp;", "&")]));
    return await this.#post(page.pathname + page.search, { ...fields, answer: isAllowed ? "authorize" : "deny" });
  }

  /** Makes a further account, which the browser uses then. */
  async createAccount(name: string): Promise<void> {
    await this.#post("/account/new", { new_name: name });
  }

  /** Asks the API as the site's pages do. */
  async ask(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const answer = await this.#send(new URL(path, this.#server).href, {
      method,
      headers: { origin: this.#server, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === "" ? {} : JSON.parse(text);
  }

  /** Sends a form, and gives where that leads. */
  async #post(path: string, fields: Readonly<Record<string, string>>): Promise<URL> {
    const url = new URL(path, this.#server);
    const headers = { origin: url.origin };
    const answer = await this.#send(url.href, { method: "POST", headers, body: new URLSearchParams(fields) });
    const text = await answer.text();
    const location = answer.headers.get("location");
    if (location === null) throw new Error(`POST ${path}: ${answer.status} ${text}`);
    return new URL(location, url);
  }

  async #send(url: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { accept: "text/html", ...init.headers, cookie };
    const answer = await fetch(url, { ...init, headers, redirect: "manual" });
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (name !== undefined) this.#cookies.set(name, value);
    }
    return answer;
  }
}
