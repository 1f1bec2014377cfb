export { createSite, type SiteOptions } from "./site.ts";
