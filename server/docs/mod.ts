export { createDocs } from "./docs.ts";
