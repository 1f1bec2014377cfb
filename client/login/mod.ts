export { openBrowser } from "./browser.ts";
export { chooseAccount, NoSuchAccount } from "./choose_account.ts";
export type { DeviceCode } from "./device_flow.ts";
export { logIn, type LogInOptions, logInWithToken } from "./log_in.ts";
export { LoginFailed } from "./login_failed.ts";
export { logOut, type LogOutEnd } from "./log_out.ts";
export { type Account, fetchWhoami, switchAccount, type Whoami } from "./whoami.ts";
