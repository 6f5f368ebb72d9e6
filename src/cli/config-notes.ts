import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { formatDuration } from "../fleet/duration.ts";
import { resolutions } from "../fleet/buckets.ts";
import { matchNotes } from "../api/name-notes.ts";
import { intervalOf } from "../polling/ticker.ts";

/** Notes on a valid configuration that is probably not what was meant. */
export function configNotes(config: Config): readonly string[] {
  return [
    ...config.keys.flatMap((key) => noteRateLimit(config, key)),
    ...noteProbes(config),
    ...noteReceivers(config),
    ...noteMaintenance(config),
    ...noteHistory(config),
  ];
}

function noteReceivers({ alerts: { receivers, rules } }: Config): readonly string[] {
  if (receivers.every(({ type }) => type === "heartbeat")) {
    return ["there are no receivers, so nobody will be alerted"];
  }
  return rules
    .filter((rule) => rule.receivers.length === 0)
    .map(({ name }) => `rule ${name} has no receivers, so nobody will be notified of it`);
}

/** A name without * that nothing has is an error; patterns are only noted. */
function noteMaintenance({ probes, alerts, ...config }: Config): readonly string[] {
  const known = {
    rules: alerts.rules,
    receivers: alerts.receivers.map(({ name }) => name),
    targets: configuredTargets(config).map((target) => ({ target })),
    probes: probes.map(({ name }) => ({ subject: { probe: name } })),
  };
  return alerts.maintenance.flatMap(({ name, match }) =>
    matchNotes(known, match).map((note) => `maintenance window ${name}: ${note}`),
  );
}

/** Probes are configured to be notified when one fails. */
function noteProbes({ probes, alerts: { rules } }: Config): readonly string[] {
  if (probes.length === 0 || rules.some(({ on }) => on === "probe")) return [];
  return ["there are probes but no rule on them, so nobody will be notified when one fails"];
}

/** Coarser buckets need less space: it is hardly meant that they are deleted first. */
function noteHistory({ history: { buckets } }: Config): readonly string[] {
  return resolutions.flatMap((finer, index) =>
    resolutions.slice(index + 1).flatMap((coarser) => {
      const [finerMs, coarserMs] = [buckets[finer], buckets[coarser]];
      if (coarserMs === null || (finerMs !== null && finerMs <= coarserMs)) return [];
      return [
        `history.${finer} is kept longer (${keptFor(finerMs)}) than history.${coarser} (${keptFor(coarserMs)})`,
      ];
    }),
  );
}

function keptFor(ms: number | null): string {
  return ms === null ? "forever" : formatDuration(ms);
}

function noteRateLimit(
  config: Config,
  key: { readonly name: string; readonly regions: readonly string[] },
): readonly string[] {
  const { schedule, rateLimit } = config.poll;
  const { requests, perMs } = rateLimit;
  const intervalMs = intervalOf(schedule);
  const runsPerMs = probeRunsPerMs(config, key.name);
  if ((key.regions.length / intervalMs + runsPerMs) * perMs <= requests) return [];
  const polls = `${key.regions.length} polls every ${formatDuration(intervalMs)}`;
  const runs = Number((runsPerMs * 60_000).toPrecision(3));
  const wanted = runsPerMs === 0 ? polls : `${polls} and ${runs} runs of probes a minute`;
  const allowed = `${requests} requests per ${formatDuration(perMs)}`;
  const fail = runsPerMs === 0 ? "some polls" : "some of them";
  return [
    `key ${key.name} would need ${wanted}, but poll.rate_limit allows ${allowed}: ${fail} will fail`,
  ];
}

/** How often probes call the service with a key. */
function probeRunsPerMs({ probes }: Config, key: string): number {
  return probes.reduce((sum, { targets, schedule }) => {
    const runs = targets.filter((target) => target.key === key).length;
    return runs === 0 ? sum : sum + runs / intervalOf(schedule);
  }, 0);
}
