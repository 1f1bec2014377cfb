import type { Accounts } from "../../accounts/mod.ts";
import { servePage } from "../page.tsx";
import type { HqApp } from "../types.ts";
import { CopyText, type Html, Icon, type IconName, Notice } from "../ui/mod.ts";

/** Adds the start page. */
export function addLanding(app: HqApp, { entry }: Accounts): void {
  app.get("/", async (context) => {
    const { viewer, site } = context.var;
    return servePage(context, {
      title: "Reach your machine from anywhere",
      shape: "landing",
      styles: ["landing.css"],
      content: (
        <Landing
          url={site.url.origin}
          example={exampleUrl(site.ephemeralUrl)}
          canSignUp={site.canSignUp}
          isSignedIn={viewer !== null}
          needsSetUp={viewer === null && await entry.needsSetUp()}
        />
      ),
    });
  });
}

interface LandingProps {
  url: string;
  /** An example tunnel URL. */
  example: string;
  canSignUp: boolean;
  isSignedIn: boolean;
  needsSetUp: boolean;
}

function Landing({ needsSetUp, ...props }: LandingProps): Html {
  return (
    <>
      {needsSetUp && (
        <Notice tone="accent">
          No account exists yet. Open the set-up link in the server's log to create the first one.
        </Notice>
      )}
      <Hero {...props} />
      <section class="features" aria-label="What it does">
        {FEATURES.map(({ icon, title, text }) => (
          <article key={title} class="panel">
            <Icon name={icon} />
            <h2>{title}</h2>
            <p>{text}</p>
          </article>
        ))}
      </section>
      <Start url={props.url} />
    </>
  );
}

function Hero({ example, canSignUp, isSignedIn }: Omit<LandingProps, "url" | "needsSetUp">): Html {
  return (
    <section class="hero">
      <div>
        <h1>Your local machine, on the Internet.</h1>
        <p class="lead">
          A public URL for what runs on your machine, a place that catches every webhook, and a proxy for the requests
          that a browser may not make.
        </p>
        <div class="ways">
          {isSignedIn
            ? <a class="primary big" href="/tunnels">Go to your tunnels</a>
            : canSignUp
            ? <a class="primary big" href="/sign-up">Create an account</a>
            : <a class="primary big" href="/sign-in">Sign in</a>}
          <a class="button big" href="#start">Start without one</a>
        </div>
      </div>
      <Terminal example={example} />
    </section>
  );
}

function Start({ url }: { url: string }): Html {
  return (
    <section class="start panel" id="start">
      <h2>Start now</h2>
      <p>Ephemeral tunnels are free and need no account. Pick what you want to show:</p>
      <dl class="commands">
        {COMMANDS.map(([what, command]) => (
          <div key={command}>
            <dt>{what}</dt>
            <dd>
              <CopyText text={`${command} --server ${url}`} label={what} block />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

const FEATURES: readonly { icon: IconName; title: string; text: string }[] = [
  {
    icon: "tunnel",
    title: "Tunnels",
    text: "HTTP, server-sent events and WebSockets to a port, a folder or a static site. Persistent ones keep their " +
      "URL, carry several ports and rewrite links to localhost.",
  },
  {
    icon: "inbox",
    title: "Request views",
    text: "A capture URL that records every call with its headers and body, to look at in the browser, to tail in a " +
      "terminal, or to send on to your machine.",
  },
  {
    icon: "proxy",
    title: "CORS proxy",
    text: "Describe a request in JSON or as a form, and the server makes it: streaming, uploads, and a full response " +
      "with timings and redirects.",
  },
];

const COMMANDS: readonly (readonly [what: string, command: string])[] = [
  ["A service on port 3000", "portway -e 3000"],
  ["A folder, to read", "portway -f ."],
  ["A static site", "portway -w ."],
];

/** A first tunnel in a terminal, as an example. */
function Terminal({ example }: Pick<LandingProps, "example">): Html {
  return (
    <div class="terminal" role="img" aria-label="A terminal in which portway -e 3000 prints a public URL">
      <div class="dots" aria-hidden="true">
        <i></i>
        <i></i>
        <i></i>
      </div>
      <pre aria-hidden="true">
        <span class="prompt">$</span> portway -e 3000{"\n"}
        {"\n"}
        <span class="dim">Public endpoint</span> <b>{example}</b>{"\n"}
        <span class="dim">Local service  </span> http://localhost:3000{"\n"}
        <span class="dim">Expires        </span> 15:04:05, in 60 minutes{"\n"}
        {"\n"}
        <span class="dim">14:04:31</span> GET  /            <span class="ok">200</span>  12ms{"\n"}
        <span class="dim">14:04:31</span> GET  /app.js      <span class="ok">200</span>   4ms{"\n"}
        <span class="dim">14:04:40</span> POST /api/orders  <span class="ok">201</span>  38ms{"\n"}
      </pre>
    </div>
  );
}

function exampleUrl({ protocol, host }: URL): string {
  return `${protocol}//k3vq7d.${host}`;
}
