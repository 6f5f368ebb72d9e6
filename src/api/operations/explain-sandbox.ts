import { z } from "zod";
import type { WatchedView } from "../../alerts/target-view.ts";
import type { Target } from "../../fleet/model.ts";
import { findSandbox, type Sandbox } from "../../fleet/snapshot.ts";
import type { Status } from "../../fleet/status.ts";
import { batches, firstOf, paced } from "../../lib/iterables.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import { allTime } from "../../reports/time-range.ts";
import type { Store } from "../../store/store.ts";
import type { StoreContext } from "../context.ts";
import { cursorOf, cursorText, limitOf, listed, nextField } from "../fields.ts";
import { nullableText, nullableTime, sandboxText, targetLabels, time } from "../fields.ts";
import { completeId } from "../find-server.ts";
import { defineOperation } from "../operation.ts";
import { timeText } from "../view-fields.ts";
import { changeView, viewChange } from "./changes.ts";

const serverView = z.object({
  server_id: z.string(),
  server_name: nullableText,
  status: z.string(),
  states_status: z.boolean().describe("False: its sandbox states its status for it"),
  since: time,
});

const explanationView = z.object({
  sandbox_id: z.string(),
  listed: listed(
    z.object({
      ...targetLabels,
      status: z.string(),
      stated_status: nullableText.describe(
        "What it states itself; null: it never did, and `status` is the worst that its servers state",
      ),
      since: time,
      created_at: nullableTime,
      benchmark: nullableText,
      server_count: z.int(),
      servers: listed(serverView).describe("Up to `limit` of them, the worst first"),
    }),
  ).describe("Where it is listed now; empty: nowhere"),
  changes: listed(changeView).describe(
    "The latest up to `before` of it and its servers, oldest first",
  ),
  truncated: z.boolean().describe("Whether there are older changes"),
  next: nextField,
});
export type SandboxExplanation = z.output<typeof explanationView>;

/** The oldest change of a page: its moment, and how many changes of that moment were returned. */
const beforeChange = cursorOf(z.object({ atMs: z.int(), returned: z.int() }));

export const explainSandbox = defineOperation({
  name: "explainSandbox",
  method: "GET",
  permission: "read",
  path: "/explain/sandbox",
  summary: "What a sandbox is, and the changes of it and its servers, oldest first",
  request: z.strictObject({
    sandbox: sandboxText,
    limit: limitOf(1_000, 10_000),
    before: beforeChange,
  }),
  response: explanationView,
  refusals: [404, 409],
  async handle({ store, targets, clock }: StoreContext, { sandbox: text, limit, before }) {
    const sandboxId = await findSandboxId(text, targets, store);
    const { atMs: untilMs, returned } = before ?? { atMs: clock.now().utcMs, returned: 0 };
    const range = { ...allTime, toMs: untilMs + 1, direction: "desc" } as const;
    const end = returned + limit;
    const found = await firstOf(store.changes.ofSubjects({ ...range, sandboxId }), end + 1);
    const page = found.slice(returned, end);
    const atMs = page.at(-1)?.atMs;
    const ofMoment = found.slice(0, end).filter((change) => change.atMs === atMs);
    const next = found.length > end ? cursorText({ atMs, returned: ofMoment.length }) : null;
    return {
      sandbox_id: sandboxId,
      listed: targets.flatMap(({ target, state }) => {
        const sandbox = findSandbox(state.snapshot, sandboxId);
        return sandbox ? [viewSandbox(target, sandbox, limit)] : [];
      }),
      changes: page.toReversed().map(viewChange),
      truncated: next !== null,
      next,
    };
  },
});

const fromWorst: readonly Status[] = ["error", "unknown", "occupied", "idle"];

function viewSandbox(target: Target, sandbox: Sandbox, limit: number) {
  const { status, statedStatus, since, createdAt, benchmark, servers } = sandbox;
  const worstFirst = fromWorst.flatMap((each) =>
    servers.filter((server) => server.status === each),
  );
  return {
    ...target,
    status,
    stated_status: statedStatus,
    since: timeText(since.atMs),
    created_at: timeText(createdAt),
    benchmark,
    server_count: servers.length,
    servers: worstFirst.slice(0, limit).map((server) => ({
      server_id: server.id,
      server_name: server.name,
      status: server.status,
      states_status: server.hasStated,
      since: timeText(server.since.atMs),
    })),
  };
}

const sandboxesAtOnce = 10_000;
const mostChanges = 1_000;

/** Completes a prefix of an id. @throws {RefusedError} when not exactly one sandbox fits */
async function findSandboxId(
  text: string,
  targets: readonly WatchedView[],
  { changes }: Pick<Store, "changes">,
): Promise<string> {
  const found = new Set<string>();
  for (const { state } of targets) {
    if (findSandbox(state.snapshot, text)) return text;
    for await (const some of paced(batches(state.snapshot.sandboxes, sandboxesAtOnce))) {
      for (const { id } of some) if (id.startsWith(text)) found.add(id);
    }
  }
  if (found.size === 0) {
    const query = { ...allTime, direction: "desc", subject: ["sandbox"], sandbox: text } as const;
    const about = await firstOf(changes.ofSubjects(query), mostChanges);
    for (const { sandboxId } of about) found.add(sandboxId);
  }
  if (found.size > 0) return completeId(text, [...found]);
  const message = `No known sandbox matches ${JSON.stringify(text)}: give its id, or a prefix of it.`;
  throw new RefusedError("not_found", message);
}
