import { setImmediate } from "node:timers/promises";
import type { WatchedView } from "../core/watched-view.ts";
import { pageOfServers } from "../fleet/server-page.ts";
import type { ServerPageQuery } from "../fleet/server-page.ts";
import type { Status } from "../fleet/status.ts";
import { runInSlices } from "../platform/run-in-slices.ts";
import * as requests from "./fleet-requests.ts";
import { nextText } from "./fleet-requests.ts";
import type * as views from "./fleet-views.ts";
import { viewServer, viewTarget } from "./fleet-views.ts";
import { notesOf } from "./name-notes.ts";
import { readRequest } from "./requests.ts";

/** What people ask of sandwatch about what it watches, as it is now. */
export interface FleetDesk {
  /** By region and key. */
  targets(query: requests.TargetsQuery): Promise<views.TargetsView>;
  /** By region, key, sandbox and id: those that come or go in between move no other. */
  servers(query: requests.ServersQuery): Promise<views.ServersView>;
}

export interface FleetDeskDeps {
  readonly targets: readonly WatchedView[];
}

interface TargetFilter {
  readonly region: readonly string[];
  readonly key: readonly string[];
}

export function createFleetDesk({ targets }: FleetDeskDeps): FleetDesk {
  const inOrder = targets.toSorted((a, b) => compareNames(namesOf(a), namesOf(b)));

  const wanted = ({ region, key }: TargetFilter): readonly WatchedView[] =>
    inOrder.filter(
      ({ target }) =>
        (region.length === 0 || region.includes(target.region)) &&
        (key.length === 0 || key.includes(target.key)),
    );
  const notesOfNames = ({ region, key }: TargetFilter): readonly string[] => [
    ...notesOf("region", region, [...new Set(targets.map(({ target }) => target.region))]),
    ...notesOf("key", key, [...new Set(targets.map(({ target }) => target.key))]),
  ];

  return {
    async targets(query) {
      const { limit, cursor: after, ...filter } = readRequest(requests.targetsQuery, query);
      const follow = wanted(filter).filter(
        (watched) => !after || compareNames(namesOf(watched), after) > 0,
      );
      const shown: views.TargetView[] = [];
      for (const watched of follow.slice(0, limit)) {
        shown.push(viewTarget(watched));
        await setImmediate();
      }
      const last = follow[limit - 1];
      return {
        targets: shown,
        next: last && follow.length > limit ? nextText(namesOf(last)) : null,
        notes: notesOfNames(filter),
      };
    },

    async servers(query) {
      const { limit, cursor: after, ...filter } = readRequest(requests.serversQuery, query);
      const isWanted = serverFilter(filter);
      const shown: views.ServerView[] = [];
      for (const watched of wanted(filter)) {
        const fromLast = after ? compareNames(namesOf(watched), [after[0], after[1]]) : 1;
        if (fromLast < 0) continue;
        const servers = pageOfServers(watched.state.snapshot, {
          after: after && fromLast === 0 ? { sandboxId: after[2], serverId: after[3] } : null,
          // One more tells whether anything follows.
          limit: limit + 1 - shown.length,
          isWanted,
        });
        for (const placed of await runInSlices(servers)) {
          shown.push(viewServer(watched.target, placed, watched.withheld));
        }
        if (shown.length > limit) break;
      }
      const last = shown[limit - 1];
      const place = last && [last.region, last.key, last.sandbox_id, last.server_id];
      return {
        servers: shown.slice(0, limit),
        next: place && shown.length > limit ? nextText(place) : null,
        notes: notesOfNames(filter),
      };
    },
  };
}

function namesOf({ target }: WatchedView): readonly [string, string] {
  return [target.region, target.key];
}

function compareNames(
  [regionA, keyA]: readonly [string, string],
  [regionB, keyB]: readonly [string, string],
): number {
  if (regionA !== regionB) return regionA < regionB ? -1 : 1;
  return keyA === keyB ? 0 : keyA < keyB ? -1 : 1;
}

type ServerFilter = Omit<requests.CheckedServersQuery, "limit" | "cursor" | "region" | "key">;

function serverFilter(filter: ServerFilter): ServerPageQuery["isWanted"] {
  const { sandbox: sandboxId, server: text, server_name: names, status, tag } = filter;
  const statusSet: ReadonlySet<Status> = new Set(status);
  const nameSet: ReadonlySet<string | null> = new Set(names);
  return (server, sandbox) =>
    (statusSet.size === 0 || statusSet.has(server.status)) &&
    (nameSet.size === 0 || nameSet.has(server.name)) &&
    (sandboxId === undefined || sandbox.id.startsWith(sandboxId)) &&
    (text === undefined || server.name === text || server.id.startsWith(text)) &&
    (tag.length === 0 || server.tags.some((each) => tag.includes(each)));
}
