import type { Config } from "../config/config.ts";
import { formatDuration } from "../core/duration.ts";
import { intervalOf } from "../polling/ticker.ts";

/** What is allowed, but hardly meant. */
export function configNotes(config: Config): readonly string[] {
  const notes = config.keys.flatMap((key) => noteRateLimit(config, key));
  return config.alerts.receivers.every(({ type }) => type === "heartbeat")
    ? [...notes, "there are no receivers, so nobody will be alerted"]
    : notes;
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
