import type { Html } from "../ui/mod.ts";

/** A line to search a list by. */
export function SearchForm({ action, label, value }: { action: string; label: string; value: string }): Html {
  return (
    <form method="get" action={action} class="search" role="search">
      <input type="search" name="search" value={value} aria-label={label} placeholder={label} maxlength={100} />
      <button type="submit" class="button small">Search</button>
    </form>
  );
}
