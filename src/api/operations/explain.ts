import { z } from "zod";
import { silenceFacts } from "../../alerts/silence.ts";
import type { SilenceFacts } from "../../alerts/silence.ts";
import type { Rule } from "../../alerts/rule.ts";
import type { StoredSubjectChange } from "../../store/changes.ts";
import type { Needs } from "../context.ts";
import { listed, nullableText, serverText, targetLabels, time } from "../fields.ts";
import { findServer, type FoundServer } from "../find-server.ts";
import { defineQuery } from "../operation.ts";
import {
  eventsRequest,
  eventsResponse,
  pageOfEvents,
  type EventsContext,
} from "../subject-events.ts";
import { timeText } from "../view-fields.ts";

const explanationView = z.object({
  server_id: z.string(),
  server_name: nullableText,
  listed: listed(
    z.object({ ...targetLabels, sandbox_id: z.string(), status: z.string(), since: time }),
  ).describe("Where it is listed now; empty: nowhere"),
  ...eventsResponse,
});
export type ExplanationView = z.output<typeof explanationView>;

export const explainServer = defineQuery({
  name: "explainServer",
  path: "/explain",
  summary: "Everything that happened to a server, oldest first",
  request: z.strictObject({ server: serverText, ...eventsRequest }),
  response: explanationView,
  refusals: [404, 409],
  async handle(context: EventsContext & Needs<"targets" | "rules">, { server: text, ...page }) {
    const { store, targets, rules } = context;
    const server = await findServer(text, targets, store);
    const { serverId, serverName } = server;
    const events = await pageOfEvents(
      context,
      {
        selection: { serverId },
        incidents: (begunByMs, limit) => store.incidents.ofServer(serverId, begunByMs, limit),
        changeText,
        facts: (changes) => factsOf(server, changes, rules),
      },
      page,
    );
    return {
      server_id: serverId,
      server_name: serverName,
      listed: server.listed.map(({ target, sandbox, server: { status, since } }) => {
        return { ...target, sandbox_id: sandbox.id, status, since: timeText(since.atMs) };
      }),
      ...events,
    };
  },
});

/** A server that moves to another sandbox has two changes at the same time. */
export function changeText({
  target,
  sandboxId,
  from,
  to,
}: Pick<StoredSubjectChange, "target" | "sandboxId" | "from" | "to">): string {
  return `${from} -> ${to} in sandbox ${sandboxId} of ${target.region}/${target.key}`;
}

/** Silences and windows can match the server where it is, or was last. */
function factsOf(
  { serverId, serverName, listed: found }: FoundServer,
  changes: readonly StoredSubjectChange[],
  rules: readonly Rule[],
): readonly SilenceFacts[] {
  const now = found.map(({ target, sandbox, server: { benchmark, tags } }) => {
    return { target, sandboxId: sandbox.id, benchmark, tags };
  });
  const before = changes.slice(-1).map(({ target, sandboxId }) => ({ target, sandboxId }));
  return rules
    .filter(({ on }) => on === "server")
    .flatMap((rule) =>
      (now.length > 0 ? now : before).map(({ target, sandboxId, ...observed }) =>
        silenceFacts(rule, target, { kind: "server", sandboxId, serverId, serverName }, observed),
      ),
    );
}
