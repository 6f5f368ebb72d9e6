import { statusBefore } from "../fleet/diff.ts";
import { eachInSlices, type Slices } from "../fleet/slices.ts";
import { findListedServer, findServer, listedServers } from "../fleet/snapshot.ts";
import type { Server } from "../fleet/snapshot.ts";
import type { IncidentEngine } from "./incident-engine.ts";
import { judgedPerSlice, judgeStatuses } from "./judge-statuses.ts";
import type { ObservedListing } from "./judge-statuses.ts";
import { concernsServer, holdsForServer, type ServerRule } from "./rule.ts";
import type { ServerSubject } from "./subjects.ts";
import type { TargetState } from "./target-state.ts";

/** Judges the servers of one target by the rules that are about them, after an accepted listing. */
export function judgeServers(
  engine: IncidentEngine,
  state: TargetState,
  observed: ObservedListing,
  rules: readonly ServerRule[],
): Slices<void> {
  return judgeStatuses<ServerRule, ServerSubject, Server>(engine, state, observed, rules, {
    isOf: (subject) => subject.kind === "server",
    find: (snapshot, { sandboxId, serverId }) => findServer(snapshot, sandboxId, serverId),
    findListed: (snapshot, { sandboxId, serverId }) =>
      findListedServer(snapshot, sandboxId, serverId),
    subjectOf,
    *listed(statuses) {
      for (const some of listedServers(observed.snapshot, statuses)) {
        yield some.map(({ sandbox, server: item }) => {
          return { subject: subjectOf(sandbox.id, item), item, previousStatus: null };
        });
      }
    },
    *changed(statuses, add) {
      yield* eachInSlices(observed.diff.servers, judgedPerSlice, (each) => {
        const { sandboxId, before, after: item } = each;
        if (!item || item.missing > 0 || !statuses.has(item.status)) return;
        const previousStatus = before?.status === item.status ? null : statusBefore(each);
        add({ subject: subjectOf(sandboxId, item), item, previousStatus });
      });
    },
    statusOf: ({ status }) => status,
    holds: holdsForServer,
    itemsOf: ({ servers }) => servers,
    counts: ({ match: { serverName, benchmark, tag } }) =>
      (serverName ?? benchmark ?? tag) ? null : observed.snapshot.tallies.servers,
    concerns: concernsServer,
    observed: ({ benchmark, tags }) => ({ benchmark, tags }),
    inhibitors: () => [],
  });
}

function subjectOf(sandboxId: string, { id, name }: Server): ServerSubject {
  return { kind: "server", sandboxId, serverId: id, serverName: name };
}
