import type { SilenceMatch } from "./silence.ts";

/** A `SilenceMatch` with the names that configuration and API have for its fields. */
export interface WrittenMatch {
  readonly rule?: readonly string[];
  readonly severity?: readonly string[];
  readonly region?: readonly string[];
  readonly key?: readonly string[];
  readonly probe?: readonly string[];
  readonly sandbox_id?: readonly string[];
  readonly server_id?: readonly string[];
  readonly server_name?: readonly string[];
  readonly benchmark?: readonly string[];
  readonly tag?: readonly string[];
}

export const matchFields = [
  "rule",
  "severity",
  "region",
  "key",
  "probe",
  "sandbox_id",
  "server_id",
  "server_name",
  "benchmark",
  "tag",
] as const satisfies readonly (keyof WrittenMatch)[];

export function readMatch(written: WrittenMatch): SilenceMatch {
  const { sandbox_id: sandboxId, server_id: serverId, server_name: serverName, ...rest } = written;
  return {
    ...rest,
    ...(sandboxId && { sandboxId }),
    ...(serverId && { serverId }),
    ...(serverName && { serverName }),
  };
}

export function writeMatch({
  sandboxId,
  serverId,
  serverName,
  ...rest
}: SilenceMatch): WrittenMatch {
  return {
    ...rest,
    ...(sandboxId && { sandbox_id: sandboxId }),
    ...(serverId && { server_id: serverId }),
    ...(serverName && { server_name: serverName }),
  };
}

/** For a person: "region=us|eu rule=server-error". */
export function matchText(match: SilenceMatch): string {
  return Object.entries(writeMatch(match))
    .map(([field, patterns]: [string, readonly string[]]) => `${field}=${patterns.join("|")}`)
    .join(" ");
}
