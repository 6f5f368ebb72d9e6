import { z } from "zod";
import { shownStatuses } from "../../fleet/fleet-search.ts";
import { findSandbox } from "../../fleet/snapshot.ts";
import { readTimeline } from "../../reports/server-timeline.ts";
import type { StoreContext } from "../context.ts";
import { listed, rangeFields, readRange, targetLabels, time } from "../fields.ts";
import { defineOperation } from "../operation.ts";
import { timeText } from "../view-fields.ts";

const segmentStatuses = [...shownStatuses, "absent"] as const;

const place = {
  ...targetLabels,
  sandbox: z.string().describe("The whole id of the sandbox"),
};
const range = { from: rangeFields.from.default("24h"), tz: rangeFields.tz };

const timelineView = z.object({
  from: time,
  to: time,
  segments: listed(z.object({ status: z.enum(segmentStatuses), from: time, to: time })).describe(
    "In order of time. `absent`: it was not there; `unobserved` is also what is not known",
  ),
  truncated: z
    .boolean()
    .describe(
      "It changed so often that what was before the first segment with a status is not read",
    ),
});

export const showTimeline = defineOperation({
  name: "showTimeline",
  method: "GET",
  permission: "read",
  path: "/servers/timeline",
  summary: "What a server was from a time until now",
  request: z.strictObject({ ...place, server: z.string().describe("Its whole id"), ...range }),
  response: timelineView,
  handle: (context: StoreContext, request) => readView(context, request, request.server),
});

export const showSandboxTimeline = defineOperation({
  name: "showSandboxTimeline",
  method: "GET",
  permission: "read",
  path: "/sandboxes/timeline",
  summary: "What a sandbox was from a time until now",
  request: z.strictObject({ ...place, ...range }),
  response: timelineView,
  handle: (context: StoreContext, request) => readView(context, request, null),
});

interface TimelineRequest {
  readonly region: string;
  readonly key: string;
  readonly sandbox: string;
  readonly from: string;
  readonly tz: z.output<typeof rangeFields.tz>;
}

/** @param serverId null: of the sandbox itself */
async function readView(
  { store, reports, targets, clock }: StoreContext,
  { region, key, sandbox: sandboxId, from, tz: zone }: TimelineRequest,
  serverId: string | null,
): Promise<z.output<typeof timelineView>> {
  const nowMs = clock.now().utcMs;
  const { fromMs } = readRange({ from }, { nowMs, zone });
  const watched = targets.find(({ target }) => target.region === region && target.key === key);
  const sandbox = watched && findSandbox(watched.state.snapshot, sandboxId);
  const state = {
    present: serverId === null ? sandbox : sandbox?.servers.find(({ id }) => id === serverId),
    up: watched !== undefined && watched.up && !watched.withheld,
  };
  const subject = { target: { region, key }, sandboxId, serverId };
  const within = { fromMs, toMs: nowMs };
  const { changes } = store;
  const { segments, truncated } = await readTimeline(subject, state, within, { changes, reports });
  return {
    from: timeText(fromMs),
    to: timeText(nowMs),
    segments: segments.map((segment) => ({
      status: segment.status,
      from: timeText(segment.fromMs),
      to: timeText(segment.toMs),
    })),
    truncated,
  };
}
