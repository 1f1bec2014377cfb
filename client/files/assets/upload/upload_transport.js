// @ts-check
// How uploads reach the share.

import { requestFolder, send, toApiError, toPath } from "../parts/api.js";

/**
 * @typedef {import("./upload_queue.js").UploadItem} UploadItem
 * @typedef {import("./upload_queue.js").Part} Part
 */

/** A connection on which nothing moves for so long is dead, whatever the browser thinks. */
const STALL_MS = 20_000;
/** After the last byte the share writes everything to its disk, which can take a while. */
const ANSWER_MS = 120_000;
const RETRY_MS = [500, 1000, 2000, 4000, 8000, 15000];

/** @type {import("./upload_queue.js").Transport} */
export const transport = { sendPart, findOffset, makeFolder: requestFolder, discard, waitToRetry };

/**
 * Sends bytes `start` to `end` of a file by one PUT; resolves with the status. XMLHttpRequest, since fetch tells
 * nothing while a body is sent. Throws ApiError, or AbortError when the signal aborts.
 * @param {UploadItem} item
 * @param {File} file
 * @param {Part} part
 * @returns {Promise<number>}
 */
function sendPart(item, file, { start, end, signal, onprogress }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const isWhole = start === 0 && end === file.size;
    request.open("PUT", toUploadPath(item));
    request.setRequestHeader("accept", "application/json");
    request.setRequestHeader("x-portway-page", "1");
    if (item.mode === "new") request.setRequestHeader("if-none-match", "*");
    if (!isWhole) request.setRequestHeader("content-range", `bytes ${start}-${end - 1}/${file.size}`);

    let timer = setTimeout(() => request.abort(), STALL_MS);
    /** @param {number} limit */
    const restart = (limit) => {
      clearTimeout(timer);
      timer = setTimeout(() => request.abort(), limit);
    };
    const stop = () => request.abort();
    signal.addEventListener("abort", stop);
    request.upload.addEventListener("progress", ({ loaded }) => {
      item.sent = start + Math.min(loaded, end - start);
      restart(item.sent === end ? ANSWER_MS : STALL_MS);
      onprogress();
    });
    request.upload.addEventListener("load", () => restart(ANSWER_MS));
    request.addEventListener("loadend", () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      if (signal.aborted) reject(new DOMException("stopped", "AbortError"));
      else if (request.status >= 200 && request.status < 300) {
        item.sent = end;
        resolve(request.status);
      } else reject(toRefusal(request));
    });
    request.send(isWhole ? file : file.slice(start, end));
  });
}

/** @param {XMLHttpRequest} request */
function toRefusal(request) {
  return request.status === 0
    ? toApiError(0, '{"message":"The share cannot be reached."}', "network")
    : toApiError(request.status, request.responseText, request.getResponseHeader("portway-error"));
}

/**
 * How much of an upload the share has, in bytes, and whether that is the whole file under its name.
 * @param {Pick<UploadItem, "names" | "id">} item
 * @param {AbortSignal} [signal]
 */
export async function findOffset(item, signal) {
  const { headers } = await send("HEAD", toUploadPath(item), { signal });
  return { offset: Number(headers.get("upload-offset") ?? 0), isComplete: headers.get("upload-complete") === "?1" };
}

/** @param {UploadItem} item */
async function discard(item) {
  await send("DELETE", toUploadPath(item), {});
}

/** @param {Pick<UploadItem, "names" | "id">} item */
function toUploadPath({ names, id }) {
  return `${toPath(names, false)}?upload=${id}`;
}

/**
 * Waits until it is time for another try or the network is back; throws when `signal` aborts.
 * @param {number} tries
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function waitToRetry(tries, signal) {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener("online", end);
      signal.removeEventListener("abort", end);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, RETRY_MS[Math.min(tries, RETRY_MS.length) - 1] ?? RETRY_MS[0]);
    addEventListener("online", end);
    signal.addEventListener("abort", end);
  });
}
