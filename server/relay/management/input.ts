import { z } from "zod";
import { badField, checkInput } from "../../http/mod.ts";
import type { AllowedPorts, PersistentTunnel } from "../../store/mod.ts";
import { MAX_ALLOWED_PORTS, MAX_DAYS, MAX_NAME } from "./limits.ts";

/** Lower-case letters and digits, with single dashes between them. */
export const NAME_PATTERN = "^[a-z0-9]+(?:-[a-z0-9]+)*$";

const port = z.int().min(1).max(65535);
const allowedPorts = z.union([z.literal("all"), z.array(port).min(1).max(MAX_ALLOWED_PORTS)]);

const tunnelName = z.string().min(1).max(MAX_NAME).regex(
  new RegExp(NAME_PATTERN),
  "must be lower-case letters and digits, with single dashes between them",
);

const newTunnel = z.strictObject({
  name: tunnelName,
  defaultPort: port,
  allowedPorts: allowedPorts.optional(),
  enabled: z.boolean().optional(),
});

const change = z.strictObject({
  name: z.string().optional(),
  defaultPort: port.optional(),
  allowedPorts: allowedPorts.optional(),
  enabled: z.boolean().optional(),
});

/** Checks the name for a new tunnel. @throws HttpError 400 with the field */
export function checkTunnelName(name: string): void {
  checkInput(z.strictObject({ name: tunnelName }), { name });
}

/** The settings that an owner chooses for a tunnel. */
export type TunnelSettings = Pick<PersistentTunnel, "defaultPort" | "allowedPorts" | "enabled">;

/**
 * Checks the settings for a new tunnel. By default it allows all ports and is switched on.
 * @throws HttpError 400 with the field
 */
export function parseNewTunnel(input: unknown): TunnelSettings & Pick<PersistentTunnel, "name"> {
  const { name, defaultPort, allowedPorts = "all", enabled = true } = checkInput(newTunnel, input);
  return { name, ...checkPorts({ defaultPort, allowedPorts, enabled }) };
}

/**
 * Checks changes to a tunnel. The name cannot change, because the address has it.
 * @throws HttpError 400 with the field
 */
export function parseTunnelChange(
  input: unknown,
  present: TunnelSettings & Pick<PersistentTunnel, "name">,
): TunnelSettings {
  const { name = present.name, ...wanted } = checkInput(change, input);
  if (name !== present.name) throw badField("name", "cannot be changed, as the public address has it");
  const { defaultPort, allowedPorts, enabled } = present;
  return checkPorts({ defaultPort, allowedPorts, enabled, ...withoutGaps(wanted) });
}

/** Returns the requested number of days; 30 by default. @throws HttpError 400 with the field */
export function parseDays(text: string | undefined): number {
  const days = text === undefined ? 30 : /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (days < 1 || days > MAX_DAYS) throw badField("days", `must be from 1 to ${MAX_DAYS}`);
  return days;
}

function checkPorts(settings: TunnelSettings): TunnelSettings {
  const ports = sortPorts(settings.allowedPorts);
  if (ports !== "all" && !ports.includes(settings.defaultPort)) {
    throw badField("allowedPorts", "must have the default port among them");
  }
  return { ...settings, allowedPorts: ports };
}

function sortPorts(ports: AllowedPorts): AllowedPorts {
  return ports === "all" ? ports : [...new Set(ports)].sort((one, two) => one - two);
}

/** Adds the present values for fields that the change leaves out. */
function withoutGaps<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;
}
