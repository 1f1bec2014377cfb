/** Under which name it is kept which account a device was allowed for, until it fetches its tokens. */
export const deviceAccountOf = (userCode: string): string => `device-account:${userCode}`;
