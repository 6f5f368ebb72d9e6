import type { FailureReason, Target } from "../fleet/model.ts";
import { episodes } from "./episodes.ts";
import type { EpisodeKind } from "./episodes.ts";
import { draw, identityOf } from "./hash.ts";

/** What keeps a listing from being had whole. */
export type Trouble = FailureReason | "partial";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** A region is down. */
const outage: EpisodeKind = {
  slotMs: 7 * dayMs,
  chance: 0.7,
  longestMs: 150 * minuteMs,
  struck: 1,
};
/** A region is so slow that many of its answers come too late. */
const slowness: EpisodeKind = { slotMs: dayMs, chance: 0.2, longestMs: hourMs, struck: 0.7 };
const lateShare = 0.5;
/** A key was revoked, or its account not paid for. */
const refusal: EpisodeKind = { slotMs: 28 * dayMs, chance: 0.4, longestMs: 8 * hourMs, struck: 1 };
/** Listings of a key lack something, and say so. */
const partial: EpisodeKind = { slotMs: dayMs, chance: 0.05, longestMs: hourMs, struck: 1 };

/**
 * What goes wrong with the service in the long run, as opposed to faults on request. A pure function
 * of the seed, the target and the time.
 */
export function troublesOf(seed: number, target: Target): (utcMs: number) => Trouble | null {
  const regionSeed = identityOf("region trouble", seed, target.region);
  const [own, ownDraws] = identityOf("target trouble", seed, target.region, target.key);
  const isDown = episodes(outage, regionSeed[0], own);
  const isSlow = episodes(slowness, regionSeed[1], own);
  const isRefused = episodes(refusal, own, own);
  const isPartial = episodes(partial, ownDraws, own);
  return (utcMs) => {
    if (isDown(utcMs)) return "server_error";
    if (isRefused(utcMs)) return "auth";
    if (isSlow(utcMs) && draw(ownDraws, Math.floor(utcMs / 1_000)) < lateShare) return "timeout";
    return isPartial(utcMs) ? "partial" : null;
  };
}
