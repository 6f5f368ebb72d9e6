import { z } from "zod";
import { failureReasons, statuses } from "../core/model.ts";
import type { Target } from "../core/model.ts";
import type { WatchedView } from "../core/watched-view.ts";
import type { PlacedServer } from "../fleet/snapshot.ts";
import { notes, nullableText, nullableTime, time, timeText } from "./views.ts";

const count = z.int().min(0);

export const targetView = z.object({
  region: z.string(),
  key: z.string(),
  /** Whether the last poll was accepted, and kept; null: none was made since the start. */
  up: z
    .boolean()
    .nullable()
    .describe("Whether the last poll was accepted, and kept; null: none was made since the start"),
  stale: z
    .boolean()
    .describe("Blind for so long that what was last seen is not shown as the present any more"),
  last_poll_at: nullableTime,
  last_success_at: nullableTime,
  last_failure_at: nullableTime.describe("Null: the last poll did not fail"),
  last_failure_reason: z.enum(failureReasons).nullable(),
  last_failure_detail: nullableText.describe(
    "Why the last poll failed, such as HTTP 503; null: it did not fail, or was before the start",
  ),
  partial: nullableText.describe(
    "Why the last listing was partial; null: it was complete, or there was none since the start",
  ),
  failures_in_a_row: count,
  blind_since: nullableTime.describe("When it was last seen; null: it is seen, or never was"),
  servers: z
    .record(z.enum(statuses), count)
    .describe("How many were last seen in each status, those included that are missing"),
  incidents: z.object({ pending: count, firing: count }).describe("Open ones of the target"),
});
export type TargetView = z.output<typeof targetView>;

export const targetsView = z.object({
  targets: z.array(targetView).readonly(),
  next: nullableText.describe("`cursor` of the request for what follows; null: that is all"),
  notes,
});
export type TargetsView = z.output<typeof targetsView>;

export const serverView = z.object({
  region: z.string(),
  key: z.string(),
  sandbox_id: z.string(),
  server_id: z.string(),
  server_name: nullableText,
  status: z.enum(statuses),
  since: time.describe("When its status was first seen"),
  benchmark: nullableText,
  tags: z.array(z.string()).readonly(),
  missing: count.describe("How many complete listings in a row lacked it"),
  stale: z.boolean().describe("Whether its target is: then this is not the present any more"),
});
export type ServerView = z.output<typeof serverView>;

export const serversView = z.object({
  servers: z.array(serverView).readonly(),
  next: nullableText.describe("`cursor` of the request for what follows; null: that is all"),
  notes,
});
export type ServersView = z.output<typeof serversView>;

export function viewTarget({
  target,
  state,
  polled,
  up,
  withheld,
  detail,
}: WatchedView): TargetView {
  const { lastPollAtMs, lastSuccessAtMs, lastFailure, failuresInARow } = state.progress;
  const incidents = { pending: 0, firing: 0 };
  for (const { phase } of state.incidents.values()) {
    if (phase.name !== "resolved") incidents[phase.name] += 1;
  }
  return {
    ...target,
    up: polled ? up : null,
    stale: withheld,
    last_poll_at: timeText(lastPollAtMs),
    last_success_at: timeText(lastSuccessAtMs),
    last_failure_at: failuresInARow > 0 ? timeText(lastPollAtMs) : null,
    last_failure_reason: lastFailure,
    last_failure_detail: failuresInARow > 0 ? (detail?.text ?? null) : null,
    partial: failuresInARow > 0 ? null : (detail?.text ?? null),
    failures_in_a_row: failuresInARow,
    blind_since: up ? null : timeText(lastSuccessAtMs),
    servers: state.snapshot.tallies.servers,
    incidents,
  };
}

export function viewServer(
  target: Target,
  { sandbox, server }: PlacedServer,
  stale: boolean,
): ServerView {
  return {
    ...target,
    sandbox_id: sandbox.id,
    server_id: server.id,
    server_name: server.name,
    status: server.status,
    since: timeText(server.since.atMs),
    benchmark: server.benchmark,
    tags: server.tags,
    missing: server.missing,
    stale,
  };
}
