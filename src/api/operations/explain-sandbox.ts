import { z } from "zod";
import type { Rule } from "../../alerts/rule.ts";
import { silenceFacts, type SilenceFacts } from "../../alerts/silence.ts";
import { serverText, type SubjectFacts } from "../../alerts/subjects.ts";
import type { WatchedView } from "../../alerts/target-view.ts";
import { targetName, type Target, type Status } from "../../fleet/model.ts";
import { findSandbox, type Sandbox } from "../../fleet/snapshot.ts";
import { batches, firstOf, paced } from "../../lib/iterables.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import { allTime } from "../../reports/time-range.ts";
import type { StoredSubjectChange } from "../../store/changes.ts";
import type { Store } from "../../store/store.ts";
import type { Needs } from "../context.ts";
import { listed, nullableText, nullableTime, sandboxText, targetLabels, time } from "../fields.ts";
import { completeId } from "../find-server.ts";
import { defineQuery } from "../operation.ts";
import {
  eventsRequest,
  eventsResponse,
  pageOfEvents,
  type EventsContext,
} from "../subject-events.ts";
import { timeText } from "../view-fields.ts";

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
  ...eventsResponse,
});
export type SandboxExplanation = z.output<typeof explanationView>;

export const explainSandbox = defineQuery({
  name: "explainSandbox",
  path: "/explain/sandbox",
  summary: "What a sandbox is, and everything that happened to it and its servers, oldest first",
  request: z.strictObject({ sandbox: sandboxText, ...eventsRequest }),
  response: explanationView,
  refusals: [404, 409],
  async handle(context: EventsContext & Needs<"targets" | "rules">, { sandbox: text, ...page }) {
    const { store, targets, rules } = context;
    const sandboxId = await findSandboxId(text, targets, store);
    const found = targets.flatMap(({ target, state }) => {
      const sandbox = findSandbox(state.snapshot, sandboxId);
      return sandbox ? [{ target, sandbox }] : [];
    });
    const events = await pageOfEvents(
      context,
      {
        selection: { sandboxId },
        incidents: (begunByMs, limit) => store.incidents.ofSandbox(sandboxId, begunByMs, limit),
        changeText: ({ target, from, to, ...of }) =>
          `${nameOf(of)}${from} -> ${to} in ${targetName(target)}`,
        nameOf: (subject) => (subject.kind === "server" ? nameOf(subject) : ""),
        facts: (changes) => factsOf(sandboxId, found, changes, rules),
      },
      page,
    );
    return {
      sandbox_id: sandboxId,
      listed: found.map(({ target, sandbox }) => viewSandbox(target, sandbox, page.limit)),
      ...events,
    };
  },
});

function nameOf(of: Pick<SubjectFacts, "serverId" | "serverName">): string {
  return of.serverId === null ? "" : `${serverText(of)}: `;
}

/** Silences and windows can match the sandbox where it is, or was last. */
function factsOf(
  sandboxId: string,
  found: readonly { readonly target: Target; readonly sandbox: Sandbox }[],
  changes: readonly StoredSubjectChange[],
  rules: readonly Rule[],
): readonly SilenceFacts[] {
  const now = found.map(({ target, sandbox: { benchmark } }) => ({ target, benchmark }));
  const before = changes.slice(-1).map(({ target }) => ({ target, benchmark: null }));
  return rules
    .filter(({ on }) => on === "sandbox")
    .flatMap((rule) =>
      (now.length > 0 ? now : before).map(({ target, benchmark }) =>
        silenceFacts(rule, target, { kind: "sandbox", sandboxId, benchmark }),
      ),
    );
}

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
