/** A server-sent event. */
export interface ServerEvent {
  type: string;
  id: string;
  data: string;
}

/** An event is longer than any that the server sends. */
export class EventTooLong extends Error {
  override name = "EventTooLong";
}

/** Most characters in an event. */
const MAX_EVENT = 4 * 1024 * 1024;

/** Parses a stream with server-sent events. */
export class EventReader {
  readonly #decoder = new TextDecoder();
  /** The incomplete line's parts. */
  #line: string[] = [];
  #length = 0;
  #type = "";
  #id = "";
  #data: string[] = [];

  /** Returns the events that a chunk completes. @throws EventTooLong */
  push(chunk: Uint8Array): ServerEvent[] {
    const events: ServerEvent[] = [];
    const [first, ...lines] = this.#decoder.decode(chunk, { stream: true }).split("\n");
    this.#keep(first);
    for (const next of lines) {
      const event = this.#endLine(this.#line.join("").replace(/\r$/, ""));
      if (event !== null) events.push(event);
      this.#line = [];
      this.#keep(next);
    }
    return events;
  }

  #keep(text: string): void {
    this.#length += text.length;
    if (this.#length > MAX_EVENT) throw new EventTooLong("an event of the server is too long");
    this.#line.push(text);
  }

  #endLine(line: string): ServerEvent | null {
    if (line === "") return this.#endEvent();
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.#type = value;
    else if (name === "id") this.#id = value;
    else if (name === "data") this.#data.push(value);
    return null;
  }

  #endEvent(): ServerEvent | null {
    const event = { type: this.#type || "message", id: this.#id, data: this.#data.join("\n") };
    const isEmpty = this.#data.length === 0;
    this.#type = "";
    this.#data = [];
    this.#length = 0;
    return isEmpty ? null : event;
  }
}
