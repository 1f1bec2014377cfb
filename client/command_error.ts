/** Thrown with a message for the user; ends the program with exit code 1. */
export class CommandError extends Error {
  override name = "CommandError";
}
