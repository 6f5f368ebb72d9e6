import { formatDuration } from "../../fleet/duration.ts";
import type { SentMessage } from "./test-outbox.ts";
import type { Expectation } from "./schema.ts";

/** How what was sent differs from what was expected; empty: it does not. */
export interface Difference {
  readonly missing: readonly Expectation[];
  readonly unexpected: readonly SentMessage[];
}

/**
 * Holds all messages against all expectations: each must be the other's. Of several that fit, the
 * first one counts.
 */
export function compare(
  sent: readonly SentMessage[],
  expected: readonly Expectation[],
): Difference {
  const unexpected = [...sent];
  const missing = expected.filter((expectation) => {
    const index = unexpected.findIndex((message) => fits(message, expectation));
    if (index !== -1) unexpected.splice(index, 1);
    return index === -1;
  });
  return { missing, unexpected };
}

/** What an expectation does not say may be as it is. */
function fits({ atMs, notification }: SentMessage, expected: Expectation): boolean {
  const { incidents, truncated } = notification;
  const servers = serversOf(notification);
  return (
    atMs === expected.at &&
    notification.type === `incident.${expected.type}` &&
    notification.rule === expected.rule &&
    isOr(expected.receiver, notification.receiver) &&
    isOr(expected.severity, notification.severity) &&
    isOr(expected.summary, notification.summary) &&
    isOr(expected.count, incidents.length + truncated) &&
    isOr(expected.servers?.toSorted().join("\n"), servers.toSorted().join("\n")) &&
    incidents.every(
      (incident) =>
        isOr(expected.reason, incident.resolvedReason) &&
        isOr(expected.flapping, incident.flapping),
    )
  );
}

function isOr<T>(expected: T | undefined, found: T | null): boolean {
  return expected === undefined || expected === found;
}

function serversOf({ incidents }: SentMessage["notification"]): readonly string[] {
  return incidents.flatMap(({ serverId }) => serverId ?? []);
}

export function expectationText(expected: Expectation): string {
  const { at, receiver, type, rule, servers, ...rest } = expected;
  const more = Object.entries(rest).flatMap(([field, value]) =>
    value === undefined ? [] : `${field}: ${JSON.stringify(value)}`,
  );
  return [
    `${formatDuration(at)}  ${receiver ?? "any receiver"}  ${rule} ${type}`,
    ...(servers ? [`servers: ${servers.join(", ")}`] : []),
    ...more,
  ].join("  ");
}

export function messageText({ atMs, notification }: SentMessage): string {
  const { receiver, rule, type, summary, incidents } = notification;
  const servers = serversOf(notification);
  const reasons = new Set(incidents.flatMap(({ resolvedReason }) => resolvedReason ?? []));
  return [
    `${formatDuration(atMs)}  ${receiver}  ${rule} ${type.replace("incident.", "")}`,
    ...(servers.length > 0 ? [`servers: ${servers.join(", ")}`] : []),
    ...(reasons.size > 0 ? [`reason: ${[...reasons].join(", ")}`] : []),
    JSON.stringify(summary),
  ].join("  ");
}
