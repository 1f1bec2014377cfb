import type { Accounts } from "../../accounts/mod.ts";
import { HttpError } from "../../../common/http_error.ts";
import { goTo, requireViewer, servePage } from "../page.tsx";
import type { HqApp, Viewer } from "../types.ts";
import { type Html, Notice } from "../ui/mod.ts";
import { EntryCard } from "./sign_in.tsx";

/** Adds the page that an invitation links to. */
export function addInvitation(app: HqApp, { members }: Accounts): void {
  app.get("/invitation/:id", async (context) => {
    const id = context.req.param("id");
    const found = await members.findInvitation(id);
    if (found === null) throw invitationGone();
    return servePage(context, {
      title: `Join ${found.account}`,
      shape: "narrow",
      content: (
        <EntryCard
          title={`Join ${found.account}`}
          lead={<>{found.inviter} invites you, by {found.email}, to work in this account.</>}
        >
          <JoinWays id={id} email={found.email} hasUser={found.hasUser} viewer={context.var.viewer} />
        </EntryCard>
      ),
    });
  });
  app.post("/invitation/:id", async (context) => {
    requireViewer(context);
    await members.acceptInvitation(context.env.exchange, context.req.param("id"));
    return goTo("/account?done=joined");
  });
}

function JoinWays(
  { id, email, hasUser, viewer }: { id: string; email: string; hasUser: boolean; viewer: Viewer | null },
): Html {
  if (viewer === null) {
    return hasUser
      ? <a class="primary full" href={`/sign-in?next=${encodeURIComponent(`/invitation/${id}`)}`}>Sign in to join</a>
      : <a class="primary full" href={`/sign-up?invitation=${encodeURIComponent(id)}`}>Create an account and join</a>;
  }
  if (viewer.user.email !== email) {
    return (
      <>
        <Notice tone="warn">You are signed in as {viewer.user.email}. Sign out, and open the link again.</Notice>
        <form method="post" action="/sign-out">
          <button type="submit" class="button">Sign out</button>
        </form>
      </>
    );
  }
  return (
    <form method="post" action={`/invitation/${encodeURIComponent(id)}`}>
      <button type="submit" class="primary full">Join the account</button>
    </form>
  );
}

const invitationGone = (): HttpError =>
  new HttpError(404, "invitation_gone", "This invitation is no longer good.", {
    details: "It was used, taken back or is too old. Ask for another one.",
  });
