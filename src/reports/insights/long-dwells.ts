import type { Target } from "../../fleet/model.ts";
import type { PresentServer } from "../sources.ts";

/** A server that is occupied for longer than servers of its name usually are. */
export interface LongDwell extends Target {
  readonly sandboxId: string;
  readonly serverId: string;
  readonly serverName: string;
  readonly occupiedMs: number;
  /** Whether the beginning was seen: otherwise it is occupied for at least that long. */
  readonly isExact: boolean;
  /** What 95 of 100 stays of the name are shorter than. */
  readonly usualMs: number;
}

/**
 * Null: it is none.
 *
 * @param atMs when the server was last seen. UTC milliseconds
 */
export function longDwellOf(
  { region, key }: Target,
  { sandboxId, serverId, serverName, status, isMissing, sinceMs, isWitnessed }: PresentServer,
  atMs: number,
  usualMaximumOf: (serverName: string) => number | null,
): LongDwell | null {
  if (status !== "occupied" || isMissing) return null;
  const name = serverName ?? "";
  const usualMs = usualMaximumOf(name);
  const occupiedMs = atMs - sinceMs;
  if (usualMs === null || occupiedMs <= usualMs) return null;
  const server = { region, key, sandboxId, serverId, serverName: name };
  return { ...server, occupiedMs, isExact: isWitnessed, usualMs };
}

/** Those that are the most beyond what is usual first. */
export function longestOf(stays: readonly LongDwell[], limit: number): readonly LongDwell[] {
  const factor = ({ occupiedMs, usualMs }: LongDwell): number => occupiedMs / usualMs;
  return stays.toSorted((one, other) => factor(other) - factor(one)).slice(0, limit);
}
