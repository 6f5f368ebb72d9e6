import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { failureOf, type WatchedView } from "../../alerts/target-view.ts";
import { serversOf, type PlacedItem } from "../../fleet/fleet-page.ts";
import { failureReasons, statuses } from "../../fleet/model.ts";
import type { Server } from "../../fleet/snapshot.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import type { FleetContext, Needs } from "../context.ts";
import { cursorOf, cursorText, limitField, listed, listOfWords, names } from "../fields.ts";
import { nextField, notes, nullableText, nullableTime, pageOf, sandboxText } from "../fields.ts";
import { serverLabels, serverText, targetFields, targetLabels, texts, time } from "../fields.ts";
import {
  compareTargets,
  countsField,
  fleetCursor,
  oneOfSome,
  pageOfFleet,
} from "../fleet-lists.ts";
import { selectTargets, serverFilter } from "../fleet-lists.ts";
import { matchNotes } from "../match-notes.ts";
import { defineAction, defineQuery } from "../operation.ts";
import { timeText, toView } from "../view-fields.ts";

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
    "Why the last poll failed, such as HTTP 503; null: it did not fail",
  ),
  partial: nullableText.describe(
    "Why the last listing was partial; null: it was complete, or there was none since the start",
  ),
  failures_in_a_row: count,
  down_since: nullableTime.describe("The last success; null: it is up, or never was"),
  sandboxes: countsField,
  servers: countsField,
  incidents: z.object({ pending: count, firing: count }).describe("Open ones of the target"),
});
export type TargetView = z.output<typeof targetView>;

export const listTargets = defineQuery({
  name: "listTargets",
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

const mostPolledAtOnce = 100;

export const pollTargets = defineAction({
  name: "pollTargets",
  path: "/targets/poll",
  summary: "Polls targets at once, within the rate limit, and returns their state after that",
  request: z.strictObject(targetFields),
  response: z.object({ targets: listed(targetView), notes }),
  refusals: [409],
  timeoutMs: 5 * 60_000,
  async handle({ pollNow, ...context }: FleetContext & Needs<"pollNow">, chosen) {
    const targets = selectTargets(context.targets, chosen);
    if (targets.length > mostPolledAtOnce) {
      const message = `These are ${targets.length} targets. Choose at most ${mostPolledAtOnce} by region and key.`;
      throw new RefusedError("conflict", message);
    }
    await Promise.all(targets.map(({ target }) => pollNow(target)));
    return { targets: targets.map(viewTarget), notes: matchNotes(context, chosen) };
  },
});

export function viewTarget(watched: WatchedView): TargetView {
  const { target, state, polled, up, withheld, detail } = watched;
  const { lastPollAtMs, lastSuccessAtMs, lastFailure, failuresInARow } = state.progress;
  const incidents = { pending: 0, firing: 0 };
  for (const { phase } of state.incidents.values()) {
    if (phase.name !== "resolved") incidents[phase.name] += 1;
  }
  const hasFailed = failuresInARow > 0;
  const view = toView({
    ...target,
    up: polled ? up : null,
    stale: withheld,
    lastPollAtMs,
    lastSuccessAtMs,
    lastFailureAtMs: hasFailed ? lastPollAtMs : null,
    lastFailureReason: lastFailure,
    lastFailureDetail: hasFailed ? failureOf(watched) : null,
    partial: hasFailed ? null : (detail?.text ?? null),
    failuresInARow,
    sandboxes: state.snapshot.tallies.sandboxes,
    servers: state.snapshot.tallies.servers,
    incidents,
  });
  return { ...view, down_since: up ? null : view.last_success_at };
}

export const serverView = z.object({
  ...serverLabels,
  status: z.enum(statuses),
  since: time.describe("When this status was first observed"),
  benchmark: nullableText,
  tags: texts,
  missing: z.int().min(0).describe("How many complete listings in a row lacked it"),
  stale: z.boolean().describe("Whether its target is stale"),
});
export type ServerView = z.output<typeof serverView>;

export const listServers = defineQuery({
  name: "listServers",
  path: "/servers",
  summary: "The current state of servers, by region, key, sandbox and id",
  request: z.strictObject({
    ...targetFields,
    sandbox: sandboxText.optional().describe("A sandbox's id, or a prefix of one"),
    server: serverText.optional().describe("A server's id, a prefix of one, or a server's name"),
    server_name: names.describe("Names of servers"),
    status: listOfWords(statuses),
    tag: names.describe("Tags, of which a server has at least one"),
    benchmark: names.describe("Benchmarks of servers"),
    limit: limitField,
    cursor: fleetCursor,
  }),
  response: z.object({ servers: listed(serverView), next: nextField, notes }),
  async handle(context: FleetContext, request) {
    const { region, key, limit, cursor, sandbox: sandboxId = "", server: text } = request;
    const isChosen = serverFilter(request.server_name, request.tag);
    const hasStatus = oneOfSome(request.status);
    const hasBenchmark = oneOfSome(request.benchmark);
    const query = { region, key, limit, cursor };
    const { page, next } = await pageOfFleet(
      context.targets,
      serversOf,
      query,
      (server, sandbox) =>
        isChosen(server) &&
        hasStatus(server.status) &&
        hasBenchmark(server.benchmark) &&
        sandbox.id.startsWith(sandboxId) &&
        (text === undefined || server.name === text || server.id.startsWith(text)),
    );
    return { servers: page.map(viewServer), next, notes: matchNotes(context, { region, key }) };
  },
});

export function viewServer({
  watched: { target, withheld: stale },
  sandbox,
  item: { id, name, status, since, benchmark, tags, missing },
}: PlacedItem<Server> & {
  readonly watched: Pick<WatchedView, "target" | "withheld">;
}): ServerView {
  return {
    ...target,
    sandbox_id: sandbox.id,
    server_id: id,
    server_name: name,
    status,
    since: timeText(since.atMs),
    benchmark,
    tags,
    missing,
    stale,
  };
}
