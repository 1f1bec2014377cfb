/** The WebSocket subprotocol for sessions. A new version has a new name; a relay may support several. */
export const SUBPROTOCOL = "portway.v1";

/** The session path below the relay's URL. */
export const SESSION_PATH = "/api/v1/session";

/** Request header with the tunnel's id. A Bearer token proves the right to it. */
export const TUNNEL_HEADER = "portway-tunnel";

/** Request header with a persistent tunnel's port, if it is not the default port. */
export const PORT_HEADER = "portway-port";

/** Request header from a client that accepts NOTICE frames: `1`. */
export const NOTICES_HEADER = "portway-notices";
