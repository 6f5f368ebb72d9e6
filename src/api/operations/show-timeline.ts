import { z } from "zod";
import { shownStatuses } from "../../fleet/fleet-search.ts";
import { targetName } from "../../fleet/model.ts";
import { checkBegun } from "../../reports/open-report.ts";
import type { HistoryContext } from "../context.ts";
import { listed, rangeFields, readRange, targetLabels, time } from "../fields.ts";
import { defineQuery } from "../operation.ts";
import { timeText } from "../view-fields.ts";

const segmentStatuses = [...shownStatuses, "absent"] as const;

const place = {
  ...targetLabels,
  sandbox: z.string().describe("The whole id of the sandbox"),
};
const range = { ...rangeFields, from: rangeFields.from.default("24h") };

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

export const showTimeline = defineQuery({
  name: "showTimeline",
  path: "/servers/timeline",
  summary: "What a server was in a range of time",
  request: z.strictObject({ ...place, server: z.string().describe("Its whole id"), ...range }),
  response: timelineView,
  handle: (context: HistoryContext, request) => readView(context, request, request.server),
});

export const showSandboxTimeline = defineQuery({
  name: "showSandboxTimeline",
  path: "/sandboxes/timeline",
  summary: "What a sandbox was in a range of time",
  request: z.strictObject({ ...place, ...range }),
  response: timelineView,
  handle: (context: HistoryContext, request) => readView(context, request, null),
});

interface TimelineRequest {
  readonly region: string;
  readonly key: string;
  readonly sandbox: string;
  readonly from: string;
  readonly to?: string | undefined;
  readonly tz: z.output<typeof rangeFields.tz>;
}

/** @param serverId null: of the sandbox itself */
async function readView(
  { reports, clock }: HistoryContext,
  { region, key, sandbox: sandboxId, from, to, tz: zone }: TimelineRequest,
  serverId: string | null,
): Promise<z.output<typeof timelineView>> {
  const nowMs = clock.now().utcMs;
  const asked = readRange({ from, to }, { nowMs, zone });
  checkBegun(asked, nowMs);
  const { fromMs, toMs } = { ...asked, toMs: Math.min(asked.toMs, nowMs) };
  const opened = await reports.occupancy.open({ region: [region], key: [key] });
  const target = { region, key };
  const watched = (await reports.targets()).find(
    (each) => targetName(each.target) === targetName(target),
  );
  const query = { sandboxId, serverId, fromMs, toMs, isUp: watched?.isUp ?? false };
  const { segments, truncated } = await opened.timeline(target, query);
  return {
    from: timeText(fromMs),
    to: timeText(toMs),
    segments: segments.map((segment) => ({
      status: segment.status,
      from: timeText(segment.fromMs),
      to: timeText(segment.toMs),
    })),
    truncated,
  };
}
