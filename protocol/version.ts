/** The WebSocket subprotocol of a session. A new version is a new name; a relay may serve several. */
export const SUBPROTOCOL = "portway.v1";

/** Where a session is opened, below the relay's URL. */
export const SESSION_PATH = "/api/v1/session";

/** Request header that names the tunnel a session carries; what proves the right to it travels as a Bearer token. */
export const TUNNEL_HEADER = "portway-tunnel";

/** Request header of a session that carries another port of a persistent tunnel than its default one. */
export const PORT_HEADER = "portway-port";

/** Request header of a client that takes NOTICE frames: `1`. */
export const NOTICES_HEADER = "portway-notices";
