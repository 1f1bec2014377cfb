// @ts-check
// Small pictures for the tiles. A photo of many megabytes is not loaded for a picture of an inch: cameras put a small
// one into the first bytes of the file, and those are asked for.

import { findThumbnail } from "./exif.js";
import { h } from "../../../../web/browser/dom.js";

/** Bytes of an image that is loaded as it is. */
const MAX_SMALL = 400_000;
/** Bytes of an image without a small one inside that is still loaded, when its tile is on the screen. */
const MAX_WHOLE = 6_000_000;
/** Bytes at the beginning of a photo in which its small picture is. */
const HEAD = 128 * 1024;

/**
 * Shows a picture of an image in the place of its icon; where there is none the icon stays.
 * @param {HTMLElement} place
 * @param {import("../parts/api.js").Entry} entry
 * @param {string} path
 */
export function showThumbnail(place, entry, path) {
  const image = h("img", { alt: "", loading: "lazy", decoding: "async", draggable: "false" });
  image.addEventListener("load", () => place.classList.add("has-image"));
  image.addEventListener("error", () => image.remove());
  place.append(image);
  if (entry.size <= MAX_SMALL) image.src = path;
  else if (/\.(?:jpe?g|jfif)$/i.test(entry.name)) showEmbedded(image, entry, path);
  else if (entry.size <= MAX_WHOLE) image.src = path;
}

/**
 * @param {HTMLImageElement} image
 * @param {import("../parts/api.js").Entry} entry
 * @param {string} path
 */
async function showEmbedded(image, entry, path) {
  try {
    const response = await fetch(path, { headers: { range: `bytes=0-${HEAD - 1}` } });
    const found = findThumbnail(new Uint8Array(await response.arrayBuffer()));
    if (found === null) {
      if (entry.size <= MAX_WHOLE) image.src = path;
      return;
    }
    // The small picture lies as the sensor did; how the whole is turned is written beside it.
    image.classList.add(`turned-${found.orientation}`);
    const url = URL.createObjectURL(new Blob([found.bytes], { type: "image/jpeg" }));
    image.addEventListener("load", () => URL.revokeObjectURL(url), { once: true });
    image.src = url;
  } catch {
    // Without a picture the icon stays.
    image.remove();
  }
}
