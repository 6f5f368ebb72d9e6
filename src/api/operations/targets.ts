import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { failureReasons, statuses } from "../../fleet/model.ts";
import type { WatchedView } from "../../alerts/watched-view.ts";
import { limit, notes, nullableText, nullableTime, timeText } from "../fields.ts";
import { matchNotes } from "../name-notes.ts";
import { defineOperation } from "../operation.ts";
import type { FleetContext } from "../target-list.ts";
import {
  compareTargets,
  cursorOf,
  cursorText,
  selectTargets,
  targetFields,
} from "../target-list.ts";

const count = z.int().min(0);

export const targetView = z.object({
  region: z.string(),
  key: z.string(),
  up: z
    .boolean()
    .nullable()
    .describe("Whether the last poll succeeded and was stored; null: not polled since the start"),
  stale: z
    .boolean()
    .describe("Down for so long that the last observed state is not shown as the present any more"),
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
  blind_since: nullableTime.describe("The last success; null: it is up, or never was"),
  servers: z
    .record(z.enum(statuses), count)
    .describe("How many were last observed in each status, including missing ones"),
  incidents: z.object({ pending: count, firing: count }).describe("Open ones of the target"),
});
export type TargetView = z.output<typeof targetView>;

export const listTargets = defineOperation({
  name: "listTargets",
  method: "GET",
  path: "/targets",
  summary: "The current state of targets, by region and key",
  request: z.strictObject({
    ...targetFields,
    limit,
    cursor: cursorOf(z.tuple([z.string(), z.string()])),
  }),
  response: z.object({
    targets: z.array(targetView).readonly(),
    next: nullableText.describe("`cursor` of the next page; null: there is none"),
    notes,
  }),
  async handle(context: FleetContext, { limit: size, cursor, region, key }) {
    const following = selectTargets(context.targets, { region, key }).filter(
      ({ target }) => !cursor || compareTargets(target, { region: cursor[0], key: cursor[1] }) > 0,
    );
    const targets: TargetView[] = [];
    for (const watched of following.slice(0, size)) {
      targets.push(viewTarget(watched));
      await setImmediate();
    }
    const last = following[size - 1]?.target;
    return {
      targets,
      next: last && following.length > size ? cursorText([last.region, last.key]) : null,
      notes: matchNotes(context, { region, key }),
    };
  },
});

function viewTarget({ target, state, polled, up, withheld, detail }: WatchedView): TargetView {
  const { lastPollAtMs, lastSuccessAtMs, lastFailure, failuresInARow } = state.progress;
  const incidents = { pending: 0, firing: 0 };
  for (const { phase } of state.incidents.values()) {
    if (phase.name !== "resolved") incidents[phase.name] += 1;
  }
  const text = detail?.text ?? null;
  return {
    ...target,
    up: polled ? up : null,
    stale: withheld,
    last_poll_at: timeText(lastPollAtMs),
    last_success_at: timeText(lastSuccessAtMs),
    last_failure_at: failuresInARow > 0 ? timeText(lastPollAtMs) : null,
    last_failure_reason: lastFailure,
    last_failure_detail: failuresInARow > 0 ? text : null,
    partial: failuresInARow > 0 ? null : text,
    failures_in_a_row: failuresInARow,
    blind_since: up ? null : timeText(lastSuccessAtMs),
    servers: state.snapshot.tallies.servers,
    incidents,
  };
}
