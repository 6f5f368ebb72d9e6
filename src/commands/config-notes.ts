import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { formatDuration } from "../core/duration.ts";
import { createNameNotes } from "../interventions/name-notes.ts";
import { intervalOf } from "../polling/ticker.ts";

/** What is allowed, but hardly meant. */
export function configNotes(config: Config): readonly string[] {
  return [
    ...config.keys.flatMap((key) => noteRateLimit(config, key)),
    ...noteReceivers(config),
    ...noteMaintenance(config),
  ];
}

function noteReceivers({ alerts: { receivers, rules } }: Config): readonly string[] {
  if (receivers.every(({ type }) => type === "heartbeat")) {
    return ["there are no receivers, so nobody will be alerted"];
  }
  return rules
    .filter((rule) => rule.receivers.length === 0)
    .map(({ name }) => `rule ${name} has no receivers, so nobody will be told of it`);
}

/** A name without * that nothing has is a fault; patterns are only noted. */
function noteMaintenance(config: Config) {
  const { maintenance, rules, receivers } = config.alerts;
  const names = createNameNotes({
    rules: rules.map(({ name }) => name),
    receivers: receivers.map(({ name }) => name),
    targets: configuredTargets(config),
  });
  return maintenance.flatMap(({ name, match }) =>
    names.ofMatch(match).map((note) => `maintenance window ${name}: ${note}`),
  );
}

function noteRateLimit(
  { poll }: Config,
  key: { readonly name: string; readonly regions: readonly string[] },
): readonly string[] {
  const intervalMs = intervalOf(poll.schedule);
  const { requests, perMs } = poll.rateLimit;
  if (key.regions.length * perMs <= requests * intervalMs) return [];
  const wanted = `${key.regions.length} polls every ${formatDuration(intervalMs)}`;
  const allowed = `${requests} requests per ${formatDuration(perMs)}`;
  return [
    `key ${key.name} would need ${wanted}, but poll.rate_limit allows ${allowed}: some polls will fail`,
  ];
}
