import { expect } from "vitest";
import type { WebhookPeer } from "../../support/webhook-peer.ts";

/** Each incident is notified once when it fires, and after that once when it resolves. */
export function expectEachOnce(
  { refused, attemptedIds, alerts }: Pick<WebhookPeer, "refused" | "attemptedIds" | "alerts">,
  incidents: number,
): void {
  expect(refused).toEqual([]);
  expect(new Set(attemptedIds).size).toBe(attemptedIds.length);
  const types = Map.groupBy(
    alerts.flatMap(({ type, data }) => data.incidents.map(({ id }) => ({ id, type }))),
    ({ id }) => id,
  );
  expect(types.size).toBe(incidents);
  for (const sent of types.values()) {
    expect(sent.map(({ type }) => type)).toEqual(["incident.firing", "incident.resolved"]);
  }
}
