import type { Presence } from "../fleet/model.ts";
import { eachInSlices, type Slices } from "../fleet/slices.ts";
import { findListedSandbox, findSandbox, listedSandboxes } from "../fleet/snapshot.ts";
import type { Sandbox } from "../fleet/snapshot.ts";
import type { IncidentEngine } from "./incident-engine.ts";
import type { Inhibitor } from "./recipients.ts";
import { judgedPerSlice, judgeStatuses } from "./judge-statuses.ts";
import type { ObservedListing } from "./judge-statuses.ts";
import { namesOfServers } from "./notification.ts";
import { concernsSandbox, holdsForSandbox, type SandboxRule, type ServerRule } from "./rule.ts";
import type { SandboxSubject } from "./subjects.ts";
import type { TargetState } from "./target-state.ts";

/**
 * Judges the sandboxes of one target by what they state themselves, after its servers: while an incident of one of its
 * servers with the same status fires, the incident of a sandbox is inhibited.
 */
export function judgeSandboxes(
  engine: IncidentEngine,
  state: TargetState,
  observed: ObservedListing,
  rules: readonly SandboxRule[],
  serverRules: readonly ServerRule[],
): Slices<void> {
  const { snapshot, diff } = observed;
  const dependsOnServers = rules.some(({ match }) => match.serverName ?? match.tag);
  return judgeStatuses<SandboxRule, SandboxSubject, Sandbox>(engine, state, observed, rules, {
    isOf: (subject) => subject.kind === "sandbox",
    find: (before, { sandboxId }) => findSandbox(before, sandboxId),
    findListed: (before, { sandboxId }) => findListedSandbox(before, sandboxId),
    subjectOf,
    *listed(statuses) {
      for (const some of listedSandboxes(snapshot)) {
        yield some.flatMap((item) =>
          item.statedStatus !== null && statuses.has(item.statedStatus)
            ? [{ subject: subjectOf(item.id, item), item, previousStatus: null }]
            : [],
        );
      }
    },
    *changed(statuses, add) {
      const addIf = (item: Sandbox | null | undefined, previousStatus: Presence | null): void => {
        if (!item || item.missing > 0 || !item.statedStatus) return;
        if (!statuses.has(item.statedStatus)) return;
        add({ subject: subjectOf(item.id, item), item, previousStatus });
      };
      if (dependsOnServers) {
        yield* eachInSlices(diff.servers, judgedPerSlice, ({ sandboxId }) =>
          addIf(findListedSandbox(snapshot, sandboxId), null),
        );
      }
      yield* eachInSlices(diff.sandboxes, judgedPerSlice, ({ before, after }) => {
        const known = before ? (before.statedStatus ?? before.status) : "absent";
        addIf(after, known === after?.statedStatus ? null : known);
      });
    },
    statusOf: ({ statedStatus }) => statedStatus,
    holds: holdsForSandbox,
    itemsOf: (sandbox) => [sandbox],
    // Tallies count the status that a sandbox is shown with, which it need not state.
    counts: () => null,
    concerns: concernsSandbox,
    observed: ({ servers }) => ({ servers: namesOfServers(servers) }),
    inhibitors: (rule, sandbox) =>
      serverRules.flatMap((each) =>
        each.status === rule.status ? firingOf(engine, each, sandbox) : [],
      ),
  });
}

function subjectOf(sandboxId: string, { benchmark }: Sandbox): SandboxSubject {
  return { kind: "sandbox", sandboxId, benchmark };
}

/** The firing incidents that a rule has for servers of a sandbox, one for those with the same receivers. */
function firingOf(
  engine: IncidentEngine,
  rule: ServerRule,
  { id: sandboxId, servers }: Sandbox,
): readonly Inhibitor[] {
  const inhibitors = new Map<string, Inhibitor>();
  for (const server of servers) {
    const { id: serverId } = server;
    const subject = { kind: "server", sandboxId, serverId, serverName: null } as const;
    const incident = engine.current(rule, subject);
    if (incident?.phase.name !== "firing") continue;
    const { clearSinceMs, flapping } = incident.phase;
    // A server that flaps may be in another status for long.
    if (flapping && clearSinceMs !== null) continue;
    const receivers = engine.informed(rule, { ...subject, serverName: server.name }, server);
    inhibitors.set(receivers.join(), { incidentId: incident.id, receivers });
  }
  return [...inhibitors.values()];
}
