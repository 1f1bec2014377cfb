// @ts-check
// Uploads on the page: what is picked or dropped goes into the queue, and what an earlier visit began goes on.

import { ApiError } from "../parts/api.js";
import { h } from "../../../../web/browser/dom.js";
import { acceptDrops, readFiles } from "./drop.js";
import { formatName, formatNames, formatSize } from "../../../../web/browser/format.js";
import { ConflictQuestion } from "../change/questions.js";
import { toast } from "../../../../web/browser/toast.js";
import { answerOthers, findUnsent, UploadMemory } from "./upload_memory.js";
import { UploadPanel } from "./upload_panel.js";
import { UploadQueue } from "./upload_queue.js";
import { findOffset, transport } from "./upload_transport.js";

/**
 * @typedef {import("../parts/api.js").Names} Names
 *
 * @typedef {object} UploadsOptions
 * @property {number | null} maxUpload bytes of the largest file that the share takes
 * @property {() => Names} findFolder where uploads go now
 * @property {() => void} onfinished called when a file is there
 */

/** The uploads of this window. */
export class Uploads {
  #options;
  #memory = new UploadMemory(localStorage);
  #conflicts = new ConflictQuestion();
  #queue;
  #panel;

  /** @param {UploadsOptions} options */
  constructor(options) {
    this.#options = options;
    this.#queue = new UploadQueue({
      transport,
      memory: {
        keep: (item, file) => this.#memory.keep(item, file),
        forget: (id) => this.#memory.forget(id),
        find: (names, file) => this.#findInterrupted(names, file),
      },
      onchange: () => this.#panel.update(),
      onfinished: options.onfinished,
      onconflict: (item) => this.#conflicts.ask(item.names.at(-1) ?? "", { verb: "upload" }),
    });
    this.#panel = new UploadPanel(this.#queue, (item) => this.#chooseAgain(item));
  }

  /**
   * Takes what is dropped on the page, and shows the panel.
   * @param {import("../parts/frame.js").Frame} frame
   * @param {import("../list/list_view.js").ListView} list
   */
  install(frame, list) {
    document.body.append(this.#panel.element, frame.dropOverlay);
    acceptDrops(frame.dropOverlay, ({ found, unread }) => {
      this.#add(found);
      if (unread.length > 0) toast(`Not all of ${formatNames(unread)} could be read.`, { isProblem: true });
    });
    addEventListener("beforeunload", (event) => {
      if (this.#queue.isBusy) event.preventDefault();
    });
    keepUncovered(this.#panel.element, frame, list);
    answerOthers(() => [...this.#queue.items].filter(({ state }) => state !== "lost").map(({ id }) => id));
    this.#showInterrupted();
  }

  /** @param {boolean} isFolder */
  pick(isFolder) {
    const input = h("input", { type: "file", multiple: true });
    input.webkitdirectory = isFolder;
    input.addEventListener("change", () => this.#add(readFiles(input.files ?? [])));
    input.click();
  }

  /** What was answered for all files of a name is asked again. */
  forgetAnswers() {
    this.#conflicts.forget();
  }

  /** @param {readonly import("./drop.js").Picked[]} found */
  #add(found) {
    const { maxUpload, findFolder } = this.#options;
    for (const { names: below, source, size } of found) {
      if (maxUpload !== null && size !== null && size > maxUpload) {
        const name = formatName(below.at(-1) ?? "");
        toast(`“${name}” is larger than ${formatSize(maxUpload)}, the limit of this share.`, { isProblem: true });
      } else this.#queue.add([...findFolder(), ...below], source, size);
    }
  }

  /**
   * The upload of a file that was broken off; null when there is none, or another window is sending it.
   * @param {Names} names
   * @param {File} file
   */
  async #findInterrupted(names, file) {
    const kept = this.#memory.find(names, file);
    return kept !== null && (await findUnsent([kept.id])).length > 0 ? kept : null;
  }

  /** Shows what an earlier visit began to upload and the share still has a part of. */
  async #showInterrupted() {
    const kept = this.#memory.list();
    if (kept.length === 0) return;
    const ids = await findUnsent(kept.map(({ id }) => id));
    for (const upload of kept.filter(({ id }) => ids.includes(id))) {
      try {
        const { offset, isComplete } = await findOffset(upload);
        const isTaken = [...this.#queue.items].some(({ id }) => id === upload.id);
        if (offset === 0 || isComplete) this.#memory.forget(upload.id);
        else if (!isTaken) this.#queue.addLost({ ...upload, sent: offset });
      } catch (error) {
        // Not reachable now, or gone: it is asked about at the next visit, or when the file is added.
        if (!(error instanceof ApiError)) throw error;
      }
    }
  }

  /**
   * Asks for the file of an upload that an earlier visit began.
   * @param {import("./upload_queue.js").UploadItem} item
   */
  #chooseAgain(item) {
    const input = h("input", { type: "file" });
    input.addEventListener("change", () => {
      const file = input.files?.[0];
      if (file === undefined) return;
      if (this.#memory.find(item.names, file) === null) {
        toast(`“${formatName(file.name)}” is not the file that was begun, or was changed since.`, { isProblem: true });
      } else this.#queue.add(item.names, () => Promise.resolve(file), file.size);
    });
    input.click();
  }
}

/**
 * Lets the last entry be scrolled out from behind the panel, and on a phone from behind the button that uploads.
 * @param {HTMLElement} panel
 * @param {import("../parts/frame.js").Frame} frame
 * @param {import("../list/list_view.js").ListView} list
 */
function keepUncovered(panel, frame, list) {
  const measure = () => {
    const height = panel.hidden ? 0 : panel.offsetHeight;
    document.documentElement.style.setProperty("--panel", `${height}px`);
    const upload = frame.element.querySelector(".upload");
    const isFloating = upload !== null && getComputedStyle(upload).position === "fixed";
    list.setCovered((panel.hidden ? 0 : height + 24) + (isFloating ? 80 : 0));
  };
  new ResizeObserver(measure).observe(panel);
  new MutationObserver(measure).observe(panel, { attributeFilter: ["hidden"] });
  addEventListener("resize", measure);
  measure();
}
