// One PUT of a file or a slice of it. XMLHttpRequest, since fetch tells nothing while a body is sent.

import { ApiError, toPath } from "./api.js";

/** A connection on which nothing moves for so long is dead, whatever the browser thinks. */
const STALL_MS = 20_000;
/** After the last byte the share writes everything to its disk, which can take a while. */
const ANSWER_MS = 120_000;

/**
 * Sends bytes `start` to `end` of a file; resolves with the status. `onchange(item)` is called while bytes go out.
 * Throws ApiError, or AbortError when `signal` aborts.
 */
export function sendPart(item, file, { start, end, signal, onchange }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const isWhole = start === 0 && end === file.size;
    request.open("PUT", `${toPath(item.names, false)}?upload=${item.id}`);
    request.setRequestHeader("accept", "application/json");
    request.setRequestHeader("x-portway-page", "1");
    if (item.mode === "new") request.setRequestHeader("if-none-match", "*");
    if (!isWhole) request.setRequestHeader("content-range", `bytes ${start}-${end - 1}/${file.size}`);

    let timer = setTimeout(() => request.abort(), STALL_MS);
    const restart = (limit) => {
      clearTimeout(timer);
      timer = setTimeout(() => request.abort(), limit);
    };
    const stop = () => request.abort();
    signal.addEventListener("abort", stop);
    request.upload.addEventListener("progress", ({ loaded }) => {
      item.sent = start + Math.min(loaded, end - start);
      restart(item.sent === end ? ANSWER_MS : STALL_MS);
      onchange(item);
    });
    request.upload.addEventListener("load", () => restart(ANSWER_MS));
    request.addEventListener("loadend", () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      if (signal.aborted) reject(new DOMException("stopped", "AbortError"));
      else if (request.status >= 200 && request.status < 300) {
        item.sent = end;
        resolve(request.status);
      } else reject(toError(request));
    });
    request.send(isWhole ? file : file.slice(start, end));
  });
}

function toError(request) {
  if (request.status === 0) return new ApiError(0, "network", "The share cannot be reached.");
  const body = readBody(request.responseText);
  const code = body.error?.code ?? request.getResponseHeader("portway-error") ?? "";
  return new ApiError(
    request.status,
    code,
    body.error?.message ?? body.message ?? `The share answered ${request.status}.`,
  );
}

function readBody(text) {
  try {
    return JSON.parse(text);
  } catch {
    // An answer from someone on the way: what its status says has to do.
    return {};
  }
}
