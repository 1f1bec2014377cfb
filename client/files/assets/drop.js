// Files and whole folders dropped on the page or picked.

/** Lists what a drop brought as [relative names, source or null for a folder, size]. */
export async function readDrop(dataTransfer) {
  // Entries must be taken before the first await: the browser empties the transfer after the event.
  const entries = [...dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter((entry) => entry);
  if (entries.length === 0) return readFiles(dataTransfer.files);
  const found = [];
  for (const entry of entries) await collect(entry, [], found);
  return found;
}

/** Lists what an input picked; files of a picked folder know their path in it. */
export function readFiles(files) {
  return [...files].map((file) => {
    const names = (file.webkitRelativePath || file.name).split("/");
    return [names, () => Promise.resolve(file), file.size];
  });
}

async function collect(entry, above, found) {
  const names = [...above, entry.name];
  if (entry.isFile) {
    // The file itself is asked for when its turn comes: thousands of them need not be open at once.
    found.push([names, () => new Promise((resolve, reject) => entry.file(resolve, reject)), null]);
    return;
  }
  const children = await readAll(entry.createReader());
  if (children.length === 0) found.push([names, null, 0]);
  for (const child of children) await collect(child, names, found);
}

/** A reader gives at most 100 entries a call. */
async function readAll(reader) {
  const all = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return all;
    all.push(...some);
  }
}

/** Calls `ondrop` with what is dropped anywhere on the page, and shows `overlay` while something hovers. */
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
