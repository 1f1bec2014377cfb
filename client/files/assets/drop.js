// Files and whole folders dropped on the page or picked.

/**
 * Lists what a drop brought: `found` as [relative names, source or null for a folder, size], and in `unread` the paths
 * of folders that could not be read to their end.
 */
export async function readDrop(dataTransfer) {
  // Entries must be taken before the first await: the browser empties the transfer after the event.
  const entries = [...dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter((entry) => entry);
  if (entries.length === 0) return { found: readFiles(dataTransfer.files), unread: [] };
  const drop = { found: [], unread: [] };
  for (const entry of entries) await collect(entry, [], drop);
  return drop;
}

/** Lists what an input picked; files of a picked folder know their path in it. */
export function readFiles(files) {
  return [...files].map((file) => {
    const names = (file.webkitRelativePath || file.name).split("/");
    return [names, () => Promise.resolve(file), file.size];
  });
}

async function collect(entry, above, drop) {
  const names = [...above, entry.name];
  if (entry.isFile) {
    // The file itself is asked for when its turn comes: thousands of them need not be open at once.
    drop.found.push([names, () => new Promise((resolve, reject) => entry.file(resolve, reject)), null]);
    return;
  }
  const { children, isWhole } = await readAll(entry.createReader());
  if (!isWhole) drop.unread.push(names.join("/"));
  else if (children.length === 0) drop.found.push([names, null, 0]);
  for (const child of children) await collect(child, names, drop);
}

/** A reader gives at most 100 entries a call, and fails for a folder that may not be read. */
async function readAll(reader) {
  const children = [];
  for (;;) {
    let some;
    try {
      some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    } catch {
      return { children, isWhole: false };
    }
    if (some.length === 0) return { children, isWhole: true };
    children.push(...some);
  }
}

/** Calls `ondrop` with what `readDrop` tells of what is dropped anywhere on the page, and shows `overlay` while something hovers. */
export function acceptDrops(overlay, ondrop) {
  let depth = 0;
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const show = (isShown) => overlay.classList.toggle("shown", isShown);
  addEventListener("dragenter", (event) => {
    if (hasFiles(event) && ++depth === 1) show(true);
  });
  addEventListener("dragleave", (event) => {
    if (hasFiles(event) && --depth === 0) show(false);
  });
  addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  addEventListener("drop", async (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    show(false);
    ondrop(await readDrop(event.dataTransfer));
  });
}
