/**
 * Memory of a session's messages. Left to the garbage collector, those of a fast download pile up to hundreds of
 * megabytes before it looks for them, so large ones are given back as soon as their frames have been handled.
 */
const LARGE = 32 * 1024;

/** A view into a message, fit to be kept after the message has been handled. */
export function keepView(view: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return view.buffer.byteLength >= LARGE ? view.slice() : view;
}

/** Gives the memory of a message, or of a piece of an upload, back that has been handled; views into it are void then. */
export function releaseMessage(message: Uint8Array): void {
  const { buffer } = message;
  // A message that is only a part of its memory shares it with others.
  const isWhole = buffer.byteLength === message.byteLength;
  if (isWhole && buffer.byteLength >= LARGE && buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0);
}
