export { EntryCard } from "./card.tsx";
export { addInvitation } from "./invitation.tsx";
export { addPasswordReset } from "./password.tsx";
export { addSignIn } from "./sign_in.tsx";
export { addSignUp } from "./sign_up.tsx";
export { formTargetsOf } from "./ways.ts";
