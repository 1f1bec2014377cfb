/**
 * Memory of a session's messages. Left to the garbage collector, those of a fast transfer pile up to hundreds of
 * megabytes before it looks for them. So the memory of a large one is given back, or used again, as soon as its frames
 * have been handled; a small one keeps its own.
 */
export const LARGE_MESSAGE = 32 * 1024;

/** Whether the memory that a view is part of ends, or changes, once its message has been handled. */
export function isLent({ buffer }: Uint8Array): boolean {
  return buffer.byteLength >= LARGE_MESSAGE;
}

/** A view into a message, fit to be kept after the message has been handled. */
export function keepView(view: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return isLent(view) ? view.slice() : view;
}

/** Gives the memory of a message, or of a piece of a body, back that has been handled; views into it are void then. */
export function releaseMessage(message: Uint8Array): void {
  const { buffer } = message;
  // A message that is only a part of its memory shares it with others.
  const isWhole = buffer.byteLength === message.byteLength;
  if (isWhole && isLent(message) && buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0);
}
