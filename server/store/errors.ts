/** What was asked could not be read or kept: for reasons of the machine, not of ours. */
export class StoreUnavailable extends Error {
  override name = "StoreUnavailable";
}

/** The label of a new tunnel is in use already. */
export class LabelTaken extends Error {
  override name = "LabelTaken";
}

/** The account has a tunnel of that name. */
export class NameTaken extends Error {
  override name = "NameTaken";
}

/** An account has as many tunnels as it may. */
export class TooManyTunnels extends Error {
  override name = "TooManyTunnels";
}

/** An account has as many views as it may. */
export class TooManyViews extends Error {
  override name = "TooManyViews";
}

/** A user has as many personal tokens as they may. */
export class TooManyTokens extends Error {
  override name = "TooManyTokens";
}
