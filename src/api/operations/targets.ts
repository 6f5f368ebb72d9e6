import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { failureOf, type WatchedView } from "../../alerts/target-view.ts";
import { failureReasons, statuses, type Target } from "../../fleet/model.ts";
import { pageOfItems, serversOf } from "../../fleet/fleet-page.ts";
import type { PlacedServer } from "../../fleet/snapshot.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import { runInSlices } from "../../lib/iterables.ts";
import type { ActContext, FleetContext } from "../context.ts";
import { cursorOf, cursorText, limitField, listed, listOfWords, names } from "../fields.ts";
import { nextField, notes, nullableText, nullableTime, pageOf, sandboxText } from "../fields.ts";
import { serverLabels, serverText, targetFields, targetLabels, texts, time } from "../fields.ts";
import { matchNotes } from "../match-notes.ts";
import { defineOperation } from "../operation.ts";
import { timeText, toView } from "../view-fields.ts";

const count = z.int().min(0);

export const countsField = z
  .record(z.enum(statuses), count)
  .describe("How many were last observed in each status, including missing ones");

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

const mostPolledAtOnce = 100;

export const pollTargets = defineOperation({
  name: "pollTargets",
  method: "POST",
  permission: "act",
  path: "/targets/poll",
  summary: "Polls targets at once, within the rate limit, and returns their state after that",
  request: z.strictObject(targetFields),
  response: z.object({ targets: listed(targetView), notes }),
  refusals: [409],
  timeoutMs: 5 * 60_000,
  async handle({ pollNow, ...context }: FleetContext & Pick<ActContext, "pollNow">, chosen) {
    const targets = selectToPoll(context.targets, chosen);
    await Promise.all(targets.map(({ target }) => pollNow(target)));
    return { targets: targets.map(viewTarget), notes: matchNotes(context, chosen) };
  },
});

type TargetChoice = Parameters<typeof selectTargets>[1];

/** @throws {RefusedError} when they are too many */
function selectToPoll(all: readonly WatchedView[], chosen: TargetChoice): readonly WatchedView[] {
  const targets = selectTargets(all, chosen);
  if (targets.length <= mostPolledAtOnce) return targets;
  const message = `These are ${targets.length} targets. Choose at most ${mostPolledAtOnce} by region and key.`;
  throw new RefusedError("conflict", message);
}

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

const filterFields = z.strictObject({
  sandbox: sandboxText.optional().describe("A sandbox's id, or a prefix of one"),
  server: serverText.optional().describe("A server's id, a prefix of one, or a server's name"),
  server_name: names.describe("Names of servers"),
  status: listOfWords(statuses),
  tag: names.describe("Tags, of which a server has at least one"),
  benchmark: names.describe("Benchmarks of servers"),
});

export const listServers = defineOperation({
  name: "listServers",
  method: "GET",
  permission: "read",
  path: "/servers",
  summary: "The current state of servers, by region, key, sandbox and id",
  request: z.strictObject({
    ...targetFields,
    ...filterFields.shape,
    limit: limitField,
    cursor: cursorOf(z.tuple([z.string(), z.string(), z.string(), z.string()])),
  }),
  response: z.object({ servers: listed(serverView), next: nextField, notes }),
  async handle(context: FleetContext, { limit: size, cursor, region, key, ...filter }) {
    const isWanted = serverFilter(filter);
    const [lastRegion = "", lastKey = "", sandboxId = "", serverId = ""] = cursor ?? [];
    const found: ServerView[] = [];
    for (const { target, state, withheld } of selectTargets(context.targets, { region, key })) {
      const order = cursor ? compareTargets(target, { region: lastRegion, key: lastKey }) : 1;
      if (order < 0) continue;
      const slices = pageOfItems(state.snapshot, serversOf, {
        after: order === 0 ? { sandboxId, id: serverId } : null,
        // One more shows whether there is a next page.
        limit: size + 1 - found.length,
        isWanted,
      });
      for (const { sandbox, item: server } of await runInSlices(slices)) {
        found.push(viewServer({ target, withheld }, { sandbox, server }));
      }
      if (found.length > size) break;
    }
    const { page, next } = pageOf(found, size, (last) =>
      cursorText([last.region, last.key, last.sandbox_id, last.server_id]),
    );
    return { servers: page, next, notes: matchNotes(context, { region, key }) };
  },
});

export function viewServer(
  { target, withheld: stale }: Pick<WatchedView, "target" | "withheld">,
  { sandbox, server }: PlacedServer,
): ServerView {
  const { id, name, status, since, benchmark, tags, missing } = server;
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

function serverFilter(filter: z.output<typeof filterFields>) {
  const { sandbox: sandboxId, server: text } = filter;
  const statusSet = new Set<string>(filter.status);
  const nameSet = new Set<string | null>(filter.server_name);
  const tagSet = new Set(filter.tag);
  const benchmarkSet = new Set<string | null>(filter.benchmark);
  return (server: PlacedServer["server"], sandbox: PlacedServer["sandbox"]): boolean =>
    (statusSet.size === 0 || statusSet.has(server.status)) &&
    (nameSet.size === 0 || nameSet.has(server.name)) &&
    (benchmarkSet.size === 0 || benchmarkSet.has(server.benchmark)) &&
    (sandboxId === undefined || sandbox.id.startsWith(sandboxId)) &&
    (text === undefined || server.name === text || server.id.startsWith(text)) &&
    (tagSet.size === 0 || server.tags.some((tag) => tagSet.has(tag)));
}
