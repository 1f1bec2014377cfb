/** The machine failed: the database is unreachable or cannot store data. */
export class StoreUnavailable extends Error {
  override name = "StoreUnavailable";
}

/** The label of a new tunnel is in use. */
export class LabelTaken extends Error {
  override name = "LabelTaken";
}

/** The account already has a tunnel with that name. */
export class NameTaken extends Error {
  override name = "NameTaken";
}

/** The limit of tunnels is reached. */
export class TooManyTunnels extends Error {
  override name = "TooManyTunnels";
}

/** The account's limit of views is reached. */
export class TooManyViews extends Error {
  override name = "TooManyViews";
}

/** The user's limit of personal tokens is reached. */
export class TooManyTokens extends Error {
  override name = "TooManyTokens";
}
