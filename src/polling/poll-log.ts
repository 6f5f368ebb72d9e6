import { conditionOfStatus, serverText } from "../alerts/subjects.ts";
import type { Verdict } from "../alerts/judge.ts";
import { countText, counted } from "../fleet/text.ts";
import { statusAfter, statusBefore } from "../fleet/diff.ts";
import type { SandboxDiff, ServerDiff } from "../fleet/diff.ts";
import { targetName, type Target, statuses } from "../fleet/model.ts";
import { longestName, readable } from "../fleet/text.ts";
import type { Logger, LogLine } from "../lib/logger.ts";
import type { TakenListing } from "../service/client.ts";
import type { Unkept } from "../service/parse-sandbox.ts";
import { describeUnkept } from "../service/listing-reader.ts";

/** What the log said of a target's last listing. */
export interface LoggedListing {
  readonly isPartial: boolean;
  /** Keys of the items and texts that cannot be kept. */
  readonly unkept: ReadonlySet<string>;
}

export const noListing: LoggedListing = { isPartial: false, unkept: new Set() };

/** Logs when a target's listings become partial and complete again, and once each item that cannot be kept. */
export function logListing(
  log: Logger,
  target: Target,
  { partial, unkept }: Pick<TakenListing, "partial" | "unkept">,
  last: LoggedListing,
): LoggedListing {
  const name = targetName(target);
  const items = new Map(withKeys(unkept.first));
  for (const [key, item] of items) {
    if (last.unkept.has(key)) continue;
    const { place, problem, found, lost, sandboxId: sandbox_id, serverId: server_id } = item;
    const fields = { ...target, sandbox_id, server_id, place, problem, found };
    const unwatched = lost === null ? "this text is not kept" : `this ${lost} is not monitored`;
    log.warn(
      { event: "listing.item_not_kept", ...fields },
      `${name}: ${describeUnkept(item)}; ${unwatched}, and the listing is partial`,
    );
  }
  if (partial !== null && !last.isPartial) {
    log.warn(
      { event: "listing.partial", ...target, detail: partial, not_kept: unkept.count },
      `${name}: the listing is partial: ${partial}`,
    );
  } else if (partial === null && last.isPartial) {
    log.info({ event: "listing.complete", ...target }, `${name}: the listing is complete again`);
  }
  return { isPartial: partial !== null, unkept: new Set(items.keys()) };
}

/** The indexes in its place are not part of an item's key: it moves when others come and go before it. */
function* withKeys(items: readonly Unkept[]): Iterable<readonly [string, Unkept]> {
  const counts = new Map<string, number>();
  for (const item of items) {
    const { place, problem, found, sandboxId, serverId } = item;
    const field = place.replaceAll(/\[\d+\]/g, "[]");
    const base = JSON.stringify([field, problem, found, sandboxId, serverId]);
    const count = (counts.get(base) ?? 0) + 1;
    counts.set(base, count);
    yield [`${base} ${count}`, item];
  }
}

/** What the log says of a committed poll beside its verdict. */
export interface PollContext {
  /** Why it failed, or why its listing is partial; null: neither. */
  readonly detail: string | null;
  /** How many polls in a row before it were not stored. */
  readonly lostPolls: number;
}

/** One line for each change, and each time a target goes down or comes up. */
export function* pollLines(
  log: Pick<Logger, "isLevelEnabled">,
  target: Target,
  verdict: Verdict,
  { detail, lostPolls }: PollContext,
): Generator<LogLine, void> {
  const name = targetName(target);
  const { diff, progress, reachability } = verdict;
  if (lostPolls > 0) {
    yield {
      level: "info",
      fields: { event: "poll.recovered", ...target, lost_polls: lostPolls },
      msg: `polls of ${name} are stored again; ${lostPolls} were lost`,
    };
  }
  if (reachability === "went_down") {
    yield {
      level: "warn",
      fields: { event: "target.lost", ...target, reason: progress.lastFailure, detail },
      msg: `polls of ${name} fail: ${detail ?? progress.lastFailure}`,
    };
  } else if (reachability === "came_back") {
    const fields = { event: "target.returned", ...target };
    yield { level: "info", fields, msg: `polls of ${name} succeed again` };
  }
  if (diff.changes.length + diff.sandboxChanges.length > 0)
    yield* changeLines(log, target, verdict);
}

/**
 * The line of a sandbox, with the number of its servers, reports servers that come or go with it or have their status from
 * it. A line for each of them is for debugging, as for each of a first listing. The lines of servers report the status that a
 * sandbox has from them.
 */
function* changeLines(
  log: Pick<Logger, "isLevelEnabled">,
  target: Target,
  verdict: Verdict,
): Generator<LogLine, void> {
  const { changes, sandboxChanges } = verdict.diff;
  const isFirst = verdict.progress.observed.polls === 1;
  if (isFirst) yield firstListingLine(target, verdict);
  const ofSandboxes = new Set(
    sandboxChanges.filter(({ kind }) => kind !== "changed").map(({ sandboxId }) => sandboxId),
  );
  const levelOf = (isReported: boolean): LogLine["level"] =>
    isFirst || !isReported ? "debug" : "info";
  for (const change of sandboxChanges) {
    const level = levelOf(change.kind !== "changed" || change.after?.statedStatus !== null);
    if (log.isLevelEnabled(level)) yield sandboxLine(level, target, change);
  }
  for (const change of changes) {
    const { sandboxId, before, after } = change;
    const hasStated = (after ?? before)?.hasStated === true;
    const level = levelOf(hasStated && !ofSandboxes.has(sandboxId));
    if (log.isLevelEnabled(level)) yield serverLine(level, target, change);
  }
}

function firstListingLine(target: Target, { diff, snapshot }: Verdict): LogLine {
  const servers = diff.changes.length;
  const sandboxes = diff.sandboxChanges.length;
  const counts = snapshot.tallies.servers;
  const inWords = statuses
    .filter((status) => counts[status] > 0)
    .map((status) => `${countText(counts[status])} ${conditionOfStatus(status)}`);
  const listed = `${counted(servers, "server")} in ${counted(sandboxes, "sandbox", "sandboxes")}`;
  return {
    level: "info",
    fields: { event: "target.first_listing", ...target, servers, ...counts, sandboxes },
    msg: `${targetName(target)} lists ${listed}${inWords.length > 0 ? `: ${inWords.join(", ")}` : ""}`,
  };
}

function sandboxLine(level: LogLine["level"], target: Target, change: SandboxDiff): LogLine {
  const { sandboxId: sandbox_id, before, after } = change;
  const { benchmark = null, servers = [] } = after ?? before ?? {};
  const [from, to] = [statusBefore(change), statusAfter(change)];
  const { region, key } = target;
  const ids = { region, key, sandbox_id, benchmark };
  const text = `sandbox ${readable(sandbox_id.slice(0, 8), longestName)}`;
  return {
    level,
    fields: { event: "sandbox.changed", ...ids, from, to, servers: servers.length },
    msg: `${targetName(target)} ${text}: ${from} -> ${to} (${counted(servers.length, "server")})`,
  };
}

function serverLine(level: LogLine["level"], target: Target, change: ServerDiff): LogLine {
  const server = change.after ?? change.before;
  const serverId = server?.id ?? "";
  const serverName = server?.name ?? null;
  const from = statusBefore(change);
  const to = statusAfter(change);
  const { region, key } = target;
  const { sandboxId: sandbox_id } = change;
  const ids = { region, key, sandbox_id, server_id: serverId, server_name: serverName };
  return {
    level,
    fields: { event: "server.changed", ...ids, from, to },
    msg: `${targetName(target)} ${serverText({ serverId, serverName })}: ${from} -> ${to}`,
  };
}
