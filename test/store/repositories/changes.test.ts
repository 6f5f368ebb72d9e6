import { sql } from "kysely";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Presence, Status } from "../../../src/fleet/model.ts";
import type {
  SubjectQuery,
  ChangeSubject,
  StoredSubjectChange,
} from "../../../src/store/changes.ts";
import { allTime } from "../../../src/reports/time-range.ts";
import { addTarget } from "../../support/add-target.ts";
import { collect } from "../../support/collect.ts";
import { listing, research, server, startMs, watchFleet } from "../../support/fleet.ts";
import { engines } from "../support/engines.ts";
import { openPollStore, type PollStore } from "../support/poll-store.ts";

describe.each(engines)("changes on $name", (engine) => {
  const first = "0a1b2c3d-4e5f-4071-8293-a4b5c6d7e8f9";
  const second = "0a1b2c3d-4e5f-4071-8293-000000000000";

  type Polled = Parameters<ReturnType<typeof watchFleet>["poll"]>[0];

  /** Two targets, each polled at the same times. */
  async function openTwoTargets() {
    const opened = await openPollStore(engine);
    const other = { region: "eu", key: "evals" };
    const { id } = await addTarget(opened.store, other);
    const [us, eu] = [watchFleet(research), watchFleet(other)];
    const poll = async (ofUs: Polled, ofEu: Polled = ofUs): Promise<void> => {
      await opened.store.commitPoll(opened.targetId, us.poll(ofUs));
      await opened.store.commitPoll(id, eu.poll(ofEu));
    };
    return { ...opened, poll };
  }

  const ofServers = { subject: ["server"] } as const;

  const all = ({ store }: Pick<PollStore, "store">, query: Partial<SubjectQuery> = {}) =>
    collect(store.changes.ofSubjects({ ...allTime, direction: "asc", ...ofServers, ...query }));

  const lines = (changes: readonly StoredSubjectChange[]): readonly string[] =>
    changes.map(({ atMs, target, sandboxId, serverId, from, to, observation }) => {
      const poll = (atMs - startMs) / 30_000;
      const id = serverId?.slice(-4) ?? `(${sandboxId})`;
      return `${poll} ${target.region} ${id} ${observation ?? `${from} ${to}`}`;
    });

  it("come in the order of time, either way, with how long the status before lasted", async () => {
    const opened = await openTwoTargets();
    await opened.poll(listing({ a: "idle", b: "error" }));
    await opened.poll(listing({ a: "occupied", b: "error" }));
    await opened.poll(listing({ a: "idle", b: "error" }), "failed");
    const expected = [
      "1 us a absent idle",
      "1 us b absent error",
      "1 eu a absent idle",
      "1 eu b absent error",
      "2 us a idle occupied",
      "2 eu a idle occupied",
      "3 us a occupied idle",
    ];
    const forwards = await all(opened);
    expect(lines(forwards)).toEqual(expected);
    expect(forwards.map(({ dwellMs }) => dwellMs)).toEqual([...Array(6).fill(null), 30_000]);
    expect(lines(await all(opened, { direction: "desc" }))).toEqual(expected.toReversed());
    const second30s = { fromMs: startMs + 60_000, toMs: startMs + 90_000 };
    expect(lines(await all(opened, second30s))).toEqual(expected.slice(4, 6));
    await expect(all(opened, { cursor: "nowhere" })).rejects.toThrow(RangeError);
  });

  it("include observations only where these are asked for", async () => {
    const opened = await openTwoTargets();
    for (const each of [{ a: "idle" }, {}, { a: "idle" }, {}, {}] as const) {
      await opened.poll(listing(each), "failed");
    }
    expect(lines(await all(opened))).toEqual(["1 us a absent idle", "5 us a idle absent"]);
    expect(lines(await all(opened, { observations: true }))).toEqual([
      "1 us a absent idle",
      "2 us a missing",
      "3 us a seen",
      "4 us a missing",
      "5 us a idle absent",
    ]);
  });

  it("are kept from the beginning on, or from the moment before which they were deleted", async () => {
    const opened = await openTwoTargets();
    const { occupancy, prune } = opened.store;
    const keptFromMs = async () => (await occupancy.open()).changesKeptFromMs;
    await opened.poll(listing({ a: "idle" }), "failed");
    while (await prune.changes(startMs));
    expect(await keptFromMs()).toBe(-Infinity);
    while (await prune.changes(startMs + 60_000));
    expect(await keptFromMs()).toBe(startMs + 60_000);
    while (await prune.changes(startMs + 50_000));
    expect(await keptFromMs()).toBe(startMs + 60_000);
  });

  it("that were stored later come in that order, some at a time, also if the clock was set back", async () => {
    const opened = await openTwoTargets();
    const { changes } = opened.store;
    const nothing = await changes.newest();
    expect(await changes.after(nothing, {}, 10)).toEqual({ changes: [], cursor: nothing });
    await opened.poll(listing({ a: "idle" }));
    const here = await changes.newest();
    const late = watchFleet();
    late.poll(listing({ a: "idle" }));
    const three = listing({ a: "error", b: "idle", c: "idle" });
    await opened.store.commitPoll(opened.targetId, late.poll(three, -90));
    const some = await changes.after(here, ofServers, 2);
    expect(lines(some.changes)).toEqual(["1 us a idle error", "1 us b absent idle"]);
    const more = await changes.after(some.cursor, ofServers, 2);
    expect(lines(more.changes)).toEqual(["1 us c absent idle"]);
    expect(await changes.after(more.cursor, {}, 2)).toEqual({ changes: [], cursor: more.cursor });
    expect((await changes.after(here, { ...ofServers, to: ["error"] }, 9)).changes).toHaveLength(1);
    expect((await changes.after(nothing, ofServers, 99)).changes).toHaveLength(5);
    expect((await changes.after(nothing, {}, 99)).changes).toHaveLength(7);
    // A cursor of another store: what came after its time follows.
    const others = await changes.after(`${startMs}_900`, ofServers, 9);
    expect(lines(others.changes).slice(0, 2)).toEqual(["1 us a absent idle", "1 eu a absent idle"]);
  });

  it("have a newest cursor that does not go back where the last one is pruned", async () => {
    const opened = await openPollStore(engine);
    const { poll } = watchFleet();
    for (const [index, a] of (["idle", "error", "idle"] as const).entries()) {
      const verdict = poll(listing({ a }));
      // The clock is far behind when the last one is stored.
      const toMs = verdict.at.utcMs - (index === 2 ? 100_000_000 : 0);
      const progress = { ...verdict.progress, recorded: { fromMs: 0, toMs } };
      await opened.store.commitPoll(opened.targetId, { ...verdict, progress });
    }
    await opened.sql(sql`update targets set rolled_up_to_ms = ${startMs}`);
    const { changes, prune } = opened.store;
    const newest = await changes.newest();
    while (await prune.changes(startMs));
    expect(await all(opened)).toHaveLength(2);
    expect((await changes.after(newest, {}, 9)).changes).toEqual([]);
    await opened.store.commitPoll(opened.targetId, poll(listing({ a: "error" })));
    expect((await changes.after(newest, {}, 9)).changes).toHaveLength(1);
  });

  it("of sandboxes come with those of their servers, and are not among those of servers alone", async () => {
    const opened = await openTwoTargets();
    const box = (status: Status | null) => {
      return { id: "box", status, benchmark: null, createdAt: null, servers: [server("a")] };
    };
    for (const status of ["idle", null, "error"] as const) {
      await opened.poll({ complete: true, sandboxes: [box(status)] }, "failed");
    }
    const { changes } = opened.store;
    const of = async (query: Partial<SubjectQuery> = {}) =>
      lines(await collect(changes.ofSubjects({ ...allTime, direction: "asc", ...query })));
    const ofBox = ["1 us (box) absent idle", "2 us (box) idle unknown", "3 us (box) unknown error"];
    expect(await of({ subject: ["sandbox"] })).toEqual(ofBox);
    expect(await of({ sandbox: "bo" })).toEqual([
      ofBox[0],
      "1 us a absent idle",
      ...ofBox.slice(1),
    ]);
    expect(await of({ server: "a" })).toEqual(["1 us a absent idle"]);
    expect(await of({ name: ["github"] })).toEqual(["1 us a absent idle"]);
    expect(lines(await all(opened))).toEqual(["1 us a absent idle"]);
    const [oldest, ...later] = (await changes.after("0_0", {}, 2)).changes;
    expect(lines(oldest ? [oldest] : [])).toEqual(ofBox.slice(0, 1));
    expect(lines(later)).toEqual(["1 us a absent idle"]);
  });

  it("are given page by page, whatever they are of", async () => {
    const opened = await openPollStore(engine);
    const { poll } = watchFleet();
    const ids = Array.from({ length: 700 }, (_, at) => `${at}`.padStart(4, "0"));
    const sandboxes = ids.map((id) => {
      return {
        id,
        status: "idle" as const,
        benchmark: null,
        createdAt: null,
        servers: [server(id)],
      };
    });
    await opened.store.commitPoll(opened.targetId, poll({ complete: true, sandboxes }));
    for (const direction of ["asc", "desc"] as const) {
      const found = await collect(opened.store.changes.ofSubjects({ ...allTime, direction }));
      expect(found).toHaveLength(1_400);
      const inOrder = direction === "asc" ? found : found.toReversed();
      expect(inOrder.map((change) => change.serverId ?? change.sandboxId)).toEqual([
        ...ids,
        ...ids,
      ]);
    }
    const half = await opened.store.changes.after("0_0", {}, 1_050);
    const rest = await opened.store.changes.after(half.cursor, {}, 1_050);
    expect([half, rest].map((each) => each.changes.length)).toEqual([1_050, 350]);
  });

  it("are what looking at all of them gives, for any range, selection and cursor", async () => {
    const opened = await openTwoTargets();
    const statuses = ["idle", "occupied", "error"] as const;
    const ids = [first, second, ...Array.from({ length: 10 }, (_, index) => `${index}`)];
    for (let poll = 0; poll < 60; poll += 1) {
      const sandboxes = ["box", "other"].map((id, box) => {
        const servers = ids.slice(poll % 4).map((serverId, index) => {
          const status = statuses[(index * 7 + poll * ((index + box) % 5)) % 3] ?? "idle";
          return server(serverId, { status, name: index % 2 === 0 ? "github" : "0a1b" });
        });
        const status = statuses[(poll >> box) % 4] ?? null;
        return { id, status, benchmark: null, createdAt: null, servers };
      });
      await opened.poll({ complete: true, sandboxes });
    }
    const ofSubjects = (query: Partial<SubjectQuery>) =>
      collect(opened.store.changes.ofSubjects({ ...allTime, direction: "asc", ...query }));
    const everything = await ofSubjects({ observations: true });
    expect(everything.filter(({ subject }) => subject === "sandbox").length).toBeGreaterThan(60);
    const times = fc.integer({ min: -1, max: 62 }).map((poll) => startMs + poll * 30_000);
    const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
    const presences = optional(fc.subarray<Presence>(["idle", "error", "absent"]));
    const named = ["1", first, "0a1b2c3d-4e5f-4071-8293-0", "0a1b", "github", "git", "nobody"];
    const queries = fc.record({
      fromMs: times,
      toMs: times,
      direction: fc.constantFrom("asc", "desc"),
      subject: optional(fc.subarray<ChangeSubject>(["server", "sandbox"])),
      server: optional(fc.constantFrom(...named)),
      serverId: optional(fc.constantFrom(first, first.slice(0, -1))),
      sandbox: optional(fc.constantFrom("box", "nowhere")),
      region: optional(fc.subarray(["us", "eu"])),
      key: optional(fc.subarray(["research", "nobody"])),
      name: optional(fc.subarray(["github", "no"])),
      from: presences,
      to: presences,
      status: presences,
      observations: fc.boolean(),
      after: optional(fc.nat(everything.length - 1)),
    });
    const isIn = <Value>(some: readonly Value[] | undefined, value: Value): boolean =>
      some === undefined || some.length === 0 || some.includes(value);
    await fc.assert(
      fc.asyncProperty(queries, async ({ after, ...query }) => {
        const inOrder = query.direction === "asc" ? everything : everything.toReversed();
        const expected = inOrder
          .slice(after === undefined ? 0 : after + 1)
          .filter(
            (change) =>
              change.atMs >= query.fromMs &&
              change.atMs < query.toMs &&
              isIn(query.subject, change.subject) &&
              (query.server === undefined ||
                change.serverId?.startsWith(query.server) === true ||
                change.serverName === query.server) &&
              (query.serverId === undefined || change.serverId === query.serverId) &&
              (query.sandbox === undefined || change.sandboxId.startsWith(query.sandbox)) &&
              isIn(query.region, change.target.region) &&
              isIn(query.key, change.target.key) &&
              isIn<string | null>(query.name, change.serverName) &&
              isIn(query.from, change.from) &&
              isIn(query.to, change.to) &&
              (isIn(query.status, change.from) || isIn(query.status, change.to)) &&
              (query.observations || change.observation === null),
          );
        const cursor = after === undefined ? undefined : inOrder[after]?.cursor;
        expect(await ofSubjects({ ...query, cursor })).toEqual(expected);
        const servers = expected.filter((change) => change.subject === "server");
        if (query.subject !== undefined) return;
        expect(await all(opened, { ...query, cursor })).toEqual(servers);
      }),
      { numRuns: engine.runs(60) },
    );
  });
});
