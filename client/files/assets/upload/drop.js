// @ts-check
// Files and whole folders dropped on the page or picked.

/**
 * What is to be uploaded: its names below the open folder, how to get at the file (null for an empty folder), and its
 * size in bytes where that is known.
 * @typedef {{ names: string[], source: (() => Promise<File>) | null, size: number | null }} Picked
 * @typedef {{ found: Picked[], unread: string[] }} Drop
 */

/**
 * Lists what a drop brought, and in `unread` the paths of folders that could not be read to their end.
 * @param {DataTransfer} dataTransfer
 * @returns {Promise<Drop>}
 */
async function readDrop(dataTransfer) {
  // Entries must be taken before the first await: the browser empties the transfer after the event.
  const entries = [...dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter((entry) => !!entry);
  if (entries.length === 0) return { found: readFiles(dataTransfer.files), unread: [] };
  /** @type {Drop} */
  const drop = { found: [], unread: [] };
  for (const entry of entries) await collect(entry, [], drop);
  return drop;
}

/**
 * Lists what an input picked; files of a picked folder know their path in it.
 * @param {Iterable<File>} files
 * @returns {Picked[]}
 */
export function readFiles(files) {
  return [...files].map((file) => {
    const names = (file.webkitRelativePath || file.name).split("/");
    return { names, source: () => Promise.resolve(file), size: file.size };
  });
}

/**
 * @param {FileSystemEntry} entry
 * @param {readonly string[]} above
 * @param {Drop} drop
 */
async function collect(entry, above, drop) {
  const names = [...above, entry.name];
  if (entry.isFile) {
    const file = /** @type {FileSystemFileEntry} */ (entry);
    // The file itself is asked for when its turn comes: thousands of them need not be open at once.
    drop.found.push({ names, source: () => new Promise((resolve, reject) => file.file(resolve, reject)), size: null });
    return;
  }
  const { children, isWhole } = await readAll(/** @type {FileSystemDirectoryEntry} */ (entry).createReader());
  if (!isWhole) drop.unread.push(names.join("/"));
  else if (children.length === 0) drop.found.push({ names, source: null, size: 0 });
  for (const child of children) await collect(child, names, drop);
}

/**
 * A reader gives at most 100 entries a call, and fails for a folder that may not be read.
 * @param {FileSystemDirectoryReader} reader
 */
async function readAll(reader) {
  /** @type {FileSystemEntry[]} */
  const children = [];
  for (;;) {
    /** @type {FileSystemEntry[]} */
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

/**
 * Calls `ondrop` with what is dropped anywhere on the page, and shows `overlay` while something hovers.
 * @param {HTMLElement} overlay
 * @param {(drop: Drop) => void} ondrop
 */
export function acceptDrops(overlay, ondrop) {
  let depth = 0;
  /** @param {DragEvent} event */
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files") ?? false;
  /** @param {boolean} isShown */
  const show = (isShown) => overlay.classList.toggle("shown", isShown);
  addEventListener("dragenter", (event) => {
    if (hasFiles(event) && ++depth === 1) show(true);
  });
  addEventListener("dragleave", (event) => {
    if (hasFiles(event) && --depth === 0) show(false);
  });
  addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  addEventListener("drop", async (event) => {
    if (event.dataTransfer === null || !hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    show(false);
    ondrop(await readDrop(event.dataTransfer));
  });
}
