import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import type { WatchedView } from "../../alerts/watched-view.ts";
import { failureReasons, statuses, type Target } from "../../fleet/model.ts";
import type { FleetContext } from "../context.ts";
import { cursorOf, cursorText, limitField, listed, nextField, notes } from "../fields.ts";
import { nullableText, nullableTime, pageOf, targetFields, targetLabels } from "../fields.ts";
import { matchNotes } from "../notes.ts";
import { defineOperation } from "../operation.ts";
import { toView } from "../view.ts";

const count = z.int().min(0);

export const targetView = z.object({
  ...targetLabels,
  up: z
    .boolean()
    .nullable()
    .describe("Whether the last poll succeeded and was stored; null: not polled since the start"),
  stale: z
    .boolean()
    .describe("Whether the last observed state is too old to be shown as the present one"),
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
  permission: "read",
  path: "/targets",
  summary: "The current state of targets, by region and key",
  request: z.strictObject({
    ...targetFields,
    limit: limitField,
    cursor: cursorOf(z.tuple([z.string(), z.string()])),
  }),
  response: z.object({ targets: listed(targetView), next: nextField, notes }),
  async handle(context: FleetContext, { limit: size, cursor, region, key }) {
    const following = selectTargets(context.targets, { region, key }).filter(
      ({ target }) => !cursor || compareTargets(target, { region: cursor[0], key: cursor[1] }) > 0,
    );
    const { page, next } = pageOf(following, size, ({ target }) =>
      cursorText([target.region, target.key]),
    );
    const targets: TargetView[] = [];
    for (const watched of page) {
      targets.push(viewTarget(watched));
      await setImmediate();
    }
    return { targets, next, notes: matchNotes(context, { region, key }) };
  },
});

/** The chosen targets, by region and key. An empty list chooses all. */
export function selectTargets(
  targets: readonly WatchedView[],
  { region, key }: { readonly region: readonly string[]; readonly key: readonly string[] },
): readonly WatchedView[] {
  return targets
    .filter(
      ({ target }) =>
        (region.length === 0 || region.includes(target.region)) &&
        (key.length === 0 || key.includes(target.key)),
    )
    .toSorted((a, b) => compareTargets(a.target, b.target));
}

export function compareTargets(a: Target, b: Target): number {
  if (a.region !== b.region) return a.region < b.region ? -1 : 1;
  return a.key === b.key ? 0 : a.key < b.key ? -1 : 1;
}

function viewTarget({ target, state, polled, up, withheld, detail }: WatchedView): TargetView {
  const { lastPollAtMs, lastSuccessAtMs, lastFailure, failuresInARow } = state.progress;
  const incidents = { pending: 0, firing: 0 };
  for (const { phase } of state.incidents.values()) {
    if (phase.name !== "resolved") incidents[phase.name] += 1;
  }
  const hasFailed = failuresInARow > 0;
  const text = detail?.text ?? null;
  const view = toView({
    ...target,
    up: polled ? up : null,
    stale: withheld,
    lastPollAtMs,
    lastSuccessAtMs,
    lastFailureAtMs: hasFailed ? lastPollAtMs : null,
    lastFailureReason: lastFailure,
    lastFailureDetail: hasFailed ? text : null,
    partial: hasFailed ? null : text,
    failuresInARow,
    servers: state.snapshot.tallies.servers,
    incidents,
  });
  return { ...view, blind_since: up ? null : view.last_success_at };
}
