import type { Child, PropsWithChildren } from "hono/jsx";
import { type Html, Notice } from "../ui/mod.ts";

/** The one form of a page without navigation, as signing in. */
export interface EntryCardProps {
  title: string;
  lead?: Child;
  /** What is wrong with the form as a whole. */
  problem?: string;
  /** A line below the form. */
  below?: Child;
}

/** A page that is one form. */
export function EntryCard({ title, lead, problem, below, children }: PropsWithChildren<EntryCardProps>): Html {
  return (
    <div class="card">
      <h1>{title}</h1>
      {lead && <p class="lead">{lead}</p>}
      {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
      {children}
      {below && <p class="beside">{below}</p>}
    </div>
  );
}
