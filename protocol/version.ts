/** The WebSocket subprotocol of a session. A new version is a new name; a relay may serve several. */
export const SUBPROTOCOL = "portway.v1";

/** Where a session is opened, below the relay's URL. */
export const SESSION_PATH = "/api/v1/session";

/** Request header that names the tunnel a session carries; its secret travels as a Bearer token. */
export const TUNNEL_HEADER = "portway-tunnel";
