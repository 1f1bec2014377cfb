/** Ports that a list may have. */
export const MAX_ALLOWED_PORTS = 100;

/** A name, its random suffix and a port share one host label with at most 63 characters. */
export const MAX_NAME = 40;

/** Days of usage that a request may read. The store keeps a little more. */
export const MAX_DAYS = 366;
