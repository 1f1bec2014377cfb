/** The WebSocket subprotocol of a session. A new version has a new name; a relay may support several. */
export const SUBPROTOCOL = "portway.v1";

/** The path of sessions below the relay's URL. */
export const SESSION_PATH = "/api/v1/session";

/** Request header with the id of the tunnel. The proof of the right to it is a Bearer token. */
export const TUNNEL_HEADER = "portway-tunnel";

/** Request header with the port of a persistent tunnel, if it is not the default port. */
export const PORT_HEADER = "portway-port";

/** Request header of a client that accepts NOTICE frames: `1`. */
export const NOTICES_HEADER = "portway-notices";
