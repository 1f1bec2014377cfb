export { addAuthorize } from "./authorize.tsx";
export { addDevice } from "./device.tsx";
