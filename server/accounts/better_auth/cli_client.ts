/** The OAuth client that the command line logs in as. */
export const CLI_CLIENT_ID = "portway-cli";

/** What its users read. */
export const CLI_CLIENT_NAME = "Portway on the command line";
