import { type FailureReason, type Target, statuses, type Status } from "../fleet/model.ts";
import type { ListedSandbox } from "../fleet/snapshot.ts";
import { draw, identityOf } from "./hash.ts";
import { createShare } from "./listing.ts";
import { episodeAt, type EpisodeKind } from "./server-status.ts";
import type { SimulatedSandbox } from "./world.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** A region is down. */
const outage: EpisodeKind = { slotMs: 7 * dayMs, chance: 0.7, longestMs: 2.5 * hourMs, struck: 1 };
/** A region is so slow that many of its answers come too late. */
const slowness: EpisodeKind = { slotMs: dayMs, chance: 0.2, longestMs: hourMs, struck: 0.7 };
const lateShare = 0.5;
/** A key was revoked, or its account not paid for. */
const refusal: EpisodeKind = { slotMs: 28 * dayMs, chance: 0.4, longestMs: 8 * hourMs, struck: 1 };
/** Listings of a key lack something, and say so. */
const partial: EpisodeKind = { slotMs: dayMs, chance: 0.05, longestMs: hourMs, struck: 1 };

/**
 * What keeps a listing from being had whole in the long run, as opposed to faults on request. A pure
 * function of the seed, the target and the time.
 */
export function troublesOf(
  seed: number,
  target: Target,
): (utcMs: number) => FailureReason | "partial" | null {
  const [outages, slownesses] = identityOf("region trouble", seed, target.region);
  const [own, ownDraws] = identityOf("target trouble", seed, target.region, target.key);
  return (utcMs) => {
    const isIn = (kind: EpisodeKind, kindSeed: number): boolean =>
      episodeAt(kind, kindSeed, own, utcMs)?.isOn ?? false;
    if (isIn(outage, outages)) return "server_error";
    if (isIn(refusal, own)) return "auth";
    const isLate = draw(ownDraws, Math.floor(utcMs / 1_000)) < lateShare;
    if (isLate && isIn(slowness, slownesses)) return "timeout";
    return isIn(partial, ownDraws) ? "partial" : null;
  };
}

/**
 * The listing that HTTP would return, without creating and parsing its text.
 *
 * @param share of the sandboxes that are listed; less than all makes a partial listing
 */
export function listDirectly(
  sandboxes: Iterable<SimulatedSandbox>,
  share: number,
): readonly ListedSandbox[] {
  const isHidden = createShare(1 - share);
  return Array.from(sandboxes)
    .filter(() => !isHidden())
    .map(listedAs);
}

function listedAs(sandbox: SimulatedSandbox): ListedSandbox {
  const { sandboxId, status, benchmark, createdAtMs, servers } = sandbox;
  return {
    id: sandboxId,
    status: known(status),
    benchmark,
    createdAt: createdAtMs,
    servers: servers.map((server) => ({
      id: server.serverId,
      name: server.serverName,
      status: known(server.status),
      benchmark: server.benchmark,
      tags: server.tags ?? [],
    })),
  };
}

function known(status: string | null): Status | null {
  if (status === null) return null;
  return statuses.find((each) => each === status) ?? "unknown";
}
