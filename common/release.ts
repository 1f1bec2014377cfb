/** The version people see; "dev" until a release stamps its number here. */
export const RELEASE = "dev";
/** The program's name, as people see it. */
export const PROJECT = "Portway";
