import { describe, expect, it } from "vitest";
import { listChanges } from "../../src/api/operations/changes.ts";
import { readEvents } from "../../src/api/operations/events.ts";
import { reportOccupancySeries } from "../../src/api/operations/occupancy-series.ts";
import { reportOccupancy } from "../../src/api/operations/occupancy.ts";
import { listSandboxes } from "../../src/api/operations/sandboxes.ts";
import { searchServers } from "../../src/api/operations/search-servers.ts";
import { addSilence, listSilences } from "../../src/api/operations/silences.ts";
import { listServers } from "../../src/api/operations/targets.ts";
import type { Daemon } from "../../src/app/daemon.ts";
import { share } from "../support/share.ts";
import { watchWorld } from "../support/watched-world.ts";
import { refusal, sound } from "./support/api-world.ts";

const api = share(async () => (await watchWorld()).daemon().api);

type Send = (to: Daemon["api"], request: object) => Promise<unknown>;

describe.each<[string, Send, readonly (readonly [request: object, allowed: string])[]]>([
  [
    "list of servers",
    (to, request) => to(listServers, request),
    [
      [{ stauts: "idle" }, "stauts: nothing: there is no such field"],
      [{ status: "busy" }, "status: idle, occupied, error, unknown"],
      [{ cursor: "W10" }, "cursor: next of the previous page"],
      [{ cursor: "%%%" }, "cursor: next of the previous page"],
      [{ limit: "0" }, "limit: a whole number from 1 to 1000"],
      [{ region: "us,," }, "Allowed: region: a text that is not empty"],
      [{ tag: "a,".repeat(100) + "a" }, "tag: at most 100 of them"],
    ],
  ],
  [
    "list of sandboxes",
    (to, request) => to(listSandboxes, request),
    [
      [{ status: "busy" }, "status: idle, occupied, error, unknown"],
      [{ cursor: "W10" }, "cursor: next of the previous page"],
      [{ server: "a" }, "server: nothing: there is no such field"],
    ],
  ],
  [
    "search of servers",
    (to, request) => to(searchServers, request),
    [
      [{ status: "busy" }, "status: occupied, idle, error, unknown, unobserved"],
      [{ sort: "age" }, "sort: name, status, since, target"],
      [{ offset: "-1" }, "offset: a whole number of at least 0"],
      [{ q: "a".repeat(1_001) }, "q: a text of at most 1000 characters"],
    ],
  ],
  [
    "list of changes",
    (to, request) => to(listChanges, request),
    [
      [{ from: "1h", to: "2h" }, "to: "],
      [{ from: "soon" }, "from: a time such as"],
      [{ tz: "Mars" }, "tz: a time zone such as"],
      [{ status: "busy" }, "status: "],
      [{ subject: "target" }, "subject: "],
      [{ before: "1_2_3" }, "before: next of the previous page"],
      [{ after: "x" }, "after: after of a previous response"],
      [{ after: "1_1", from: "1h" }, "after without before, from and to"],
      [{ servers: "x" }, "servers: nothing: there is no such field"],
    ],
  ],
  [
    "events",
    readEvents,
    [
      [{ after: "1_2" }, "after: the id of an event"],
      [{ after: "0_0,0_,0_" }, "after: the id of an event"],
      [{ kind: "silence" }, "change, incident"],
      [{ from: "1h" }, "from: "],
    ],
  ],
  [
    "series of occupancy",
    (to, request) => to(reportOccupancySeries, request),
    [
      [{ step: "7m" }, "step: a multiple of 5m"],
      [{ step: "0s" }, "step: a multiple of 5m"],
      [{ from: "30d", step: "5m" }, "step: a longer step or a shorter range: at most 2000 cells"],
      [{ from: "soon" }, "from: a time such as"],
      [{ by: "hour" }, "by: nothing: there is no such field"],
    ],
  ],
  [
    "report of occupancy",
    (to, request) => to(reportOccupancy, { from: "7d", ...request }),
    [
      [{ from: "soon" }, "The request cannot be used. Allowed: from: a time such as"],
      [{ from: "2026-11-19", to: "2026-11-18" }, "to: a time after from"],
      [{ by: "sever_name" }, "sever_name is not one of them; did you mean server_name?"],
      [{ by: "server,hour" }, "by: either server or hour"],
      [{ tz: "Mars/Olympus" }, "tz: a time zone such as"],
      [{ limit: 0 }, "limit: a whole number from 1 to 10000"],
      [{ cursor: "x" }, "cursor: next of the previous page"],
      [{ colour: "red" }, "colour: nothing: there is no such field"],
    ],
  ],
  [
    "silence",
    (to, changes) => to(addSilence, { ...sound, ...changes }),
    [
      [{ reason: undefined }, "reason: the reason for the silence"],
      [{ reason: "  " }, "reason: the reason for the silence"],
      [{ author: undefined }, "author: the name of the author"],
      [{ duration: undefined }, "ends_at: when it ends"],
      [{ ends_at: "2026-11-20T12:00:00Z" }, "one of the two"],
      [{ match: {} }, "match: at least one field"],
      [{ match: undefined }, "match or incident"],
      [{ incident: "abc" }, "match or incident"],
      [{ match: { reigon: "us" } }, "match.reigon: nothing"],
      [{ match: { region: "" } }, "match.region: a name"],
      [{ duration: "0s" }, "ends_at: an end in the future"],
      [{ duration: "400d" }, "ends_at: an end within a year"],
      [{ duration: "long" }, "duration: a duration such as 30m"],
      [{ duration: undefined, ends_at: "2026-11-20T12:00:00" }, "ends_at: a time such as"],
      [
        { duration: undefined, starts_at: "2026-11-21T00:00Z", ends_at: "2026-11-20T23:00Z" },
        "ends_at: an end after the start",
      ],
      [{ starts_at: "2029-01-01T00:00:00Z" }, "starts_at: a start within"],
      [{ comment: "x" }, "comment: nothing: there is no such field"],
    ],
  ],
])("a request for a %s", (_, send, cases) => {
  it.each(cases)("is refused, with what is allowed, with %j", async (request, allowed) => {
    await expect(send(api(), request)).rejects.toMatchObject(refusal("invalid", allowed));
  });
});

it("a silence that was refused is not added", async () => {
  const refused = api()(addSilence, { ...sound, match: {} });
  await expect(refused).rejects.toThrow("match: at least one field");
  expect(await api()(listSilences, { ended: true })).toEqual({ silences: [], next: null });
});
