/** Ports that a list may name. */
export const MAX_ALLOWED_PORTS = 100;

/** With what is generated, and a port, it has to fit into a host label of 63 characters. */
export const MAX_NAME = 40;

/** Days that usage is asked for: it is kept a little longer. */
export const MAX_DAYS = 366;
