import { z } from "zod";
import { shownStatuses } from "../../fleet/server-search.ts";
import { findServer } from "../../fleet/snapshot.ts";
import { readTimeline } from "../../reports/server-timeline.ts";
import type { StoreContext } from "../context.ts";
import { listed, rangeFields, readRange, targetLabels, time } from "../fields.ts";
import { defineOperation } from "../operation.ts";
import { timeText } from "../view-fields.ts";

const segmentStatuses = [...shownStatuses, "absent"] as const;

export const showTimeline = defineOperation({
  name: "showTimeline",
  method: "GET",
  permission: "read",
  path: "/servers/timeline",
  summary: "What a server was from a time until now",
  request: z.strictObject({
    ...targetLabels,
    sandbox: z.string().describe("The whole id of its sandbox"),
    server: z.string().describe("Its whole id"),
    from: rangeFields.from.default("24h"),
    tz: rangeFields.tz,
  }),
  response: z.object({
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
  }),
  async handle({ store, reports, targets, clock }: StoreContext, request) {
    const { region, key, sandbox: sandboxId, server: serverId, from, tz: zone } = request;
    const nowMs = clock.now().utcMs;
    const { fromMs } = readRange({ from }, { nowMs, zone });
    const watched = targets.find(({ target }) => target.region === region && target.key === key);
    const state = {
      server: watched && findServer(watched.state.snapshot, sandboxId, serverId),
      up: watched !== undefined && watched.up && !watched.withheld,
    };
    const place = { target: { region, key }, sandboxId, serverId };
    const range = { fromMs, toMs: nowMs };
    const { changes } = store;
    const { segments, truncated } = await readTimeline(place, state, range, { changes, reports });
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
  },
});
