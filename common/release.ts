/** The version people see; "dev" until a release stamps its number here. */
export const RELEASE = "dev";
export const PROJECT = "Portway";
