import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Incident } from "../../src/core/incident.ts";
import type { Verdict } from "../../src/core/judge.ts";
import type { ListedSandbox } from "../../src/core/model.ts";
import { pageOf } from "../../src/core/snapshot/page.ts";
import { judgeBy, listing, research, server, serverError, watchFleet } from "../support/fleet.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { contentOf, contentOfTarget, openPollStore } from "./support/poll-store.ts";
import { addTarget } from "../support/add-target.ts";

function uuid(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
}

/** As many idle servers, four a sandbox, with some of other statuses. */
function manyServers(count: number, others: Readonly<Record<number, "error" | "occupied">> = {}) {
  const sandboxes: ListedSandbox[] = [];
  for (let from = 0; from < count; from += 4) {
    const servers = [from, from + 1, from + 2, from + 3].map((index) =>
      server(uuid(index), { status: others[index] ?? "idle" }),
    );
    sandboxes.push({ sandboxId: uuid(10_000 + from), status: "idle", benchmark: null, servers });
  }
  return { sandboxes, complete: true };
}

/** Whose servers have a name is only written once they were there for a while. */
async function twice(commit: () => Promise<void>): Promise<void> {
  await commit();
  await commit();
}

describe("what a poll costs", () => {
  it("is one row when nothing changed, however many servers there are", async () => {
    const { store, targetId, written } = await openPollStore();
    const { poll } = watchFleet();
    await twice(() => store.commitPoll(targetId, poll(manyServers(2_000))));
    const quiet = () => store.commitPoll(targetId, poll(manyServers(2_000)));
    expect(await written(quiet)).toBe(1);
  });

  it("is that row and one for the gap when it failed and no rule asks for that", async () => {
    const { store, targetId, written } = await openPollStore();
    const { poll } = watchFleet(research, { judge: judgeBy([serverError]) });
    await twice(() => store.commitPoll(targetId, poll(manyServers(40))));
    expect(await written(() => store.commitPoll(targetId, poll("failed")))).toBe(2);
  });

  it.each([
    ["a changed status", { 7: "occupied" } as const, 3],
    ["an incident that is told, with its revision", { 7: "error" } as const, 3 + 3],
    ["ten changed statuses on five pages", tenOccupied(), 3],
  ])(
    "is one row for what became of the servers, and one for their changes: %s",
    async (_, changed, rows) => {
      const { store, targetId, written } = await openPollStore();
      const { poll } = watchFleet();
      await twice(() => store.commitPoll(targetId, poll(manyServers(2_000))));
      const busy = () => store.commitPoll(targetId, poll(manyServers(2_000, changed)));
      expect(await written(busy)).toBe(rows);
    },
  );

  it("is one row for many servers of a first listing, and all of them come back", async () => {
    const { store, targetId, written } = await openPollStore();
    const { poll, watched } = watchFleet();
    const first = () => store.commitPoll(targetId, poll(manyServers(1_000)));
    expect(await written(first)).toBe(1 + 6 + 1 + 2);
    expect(await contentOf(store)).toEqual(contentOfTarget(watched));
  });
});

describe("a poll's rows", () => {
  it("tell what changed, when, and for which target", async () => {
    const { store, targetId, rows } = await openPollStore();
    const { poll } = watchFleet();
    await store.commitPoll(targetId, poll(listing({ a: "idle" })));
    const verdict = poll(listing({ a: "error" }));
    await store.commitPoll(targetId, verdict);
    expect((await rows("changes"))[1]).toMatchObject({
      id: 2,
      target_id: targetId,
      at_ms: verdict.at.utcMs,
      change_count: 1,
      lapse_count: 0,
      texts: JSON.stringify(["", "a", "box", "github"]),
    });
    expect(await rows("outbox_items")).toMatchObject([
      { receiver: "oncall", incident_id: "incident-1", type: "incident.firing" },
    ]);
  });

  it("are of one target alone", async () => {
    const { store, targetId, rows } = await openPollStore();
    const other = await addTarget(store, { region: "eu", key: "research" });
    const [us, eu] = [watchFleet(), watchFleet({ region: "eu", key: "research" })];
    await store.commitPoll(targetId, us.poll(listing({ a: "idle" })));
    await store.commitPoll(other.id, eu.poll(listing({ a: "occupied", b: "idle" })));
    await store.commitPoll(targetId, us.poll(listing({})));
    await store.commitPoll(targetId, us.poll(listing({})));
    expect((await store.targets.snapshotOf(targetId)).serverCount).toBe(0);
    const left = [...(await store.targets.snapshotOf(other.id)).servers()];
    expect(left.map(({ serverId }) => serverId)).toEqual(["a", "b"]);
    const owners = new Set((await rows("pages")).map((row) => row["target_id"]));
    expect(owners).toEqual(new Set([targetId, other.id]));
  });
});

describe("a commit is all or nothing", () => {
  /** A verdict whose every part must be written, and whose last part can be spoilt. */
  function fullVerdict(): { first: Verdict; second: Verdict } {
    const { poll } = watchFleet();
    const first = poll(listing({ a: "idle", b: "idle" }));
    return { first, second: poll(listing({ a: "error", c: "occupied" })) };
  }

  const spoilIncident = (verdict: Verdict, spoil: Partial<Incident>): Verdict => ({
    ...verdict,
    incidents: {
      ...verdict.incidents,
      written: verdict.incidents.written.map((incident) => ({ ...incident, ...spoil })),
    },
  });

  it.each<readonly [what: string, spoil: (verdict: Verdict) => Verdict]>([
    ["an incident's row", (verdict) => spoilIncident(verdict, { startedAtMs: 0.5 })],
    [
      "an outbox item's row",
      (verdict) => ({
        ...verdict,
        incidents: {
          ...verdict.incidents,
          outbox: verdict.incidents.outbox.map((item) => ({ ...item, causedAtMs: 0.5 })),
        },
      }),
    ],
    [
      "a page's row",
      (verdict) => {
        const { pages } = verdict;
        if (!pages) throw new Error("the poll wrote no page");
        const replaced = pages.all.map(({ sandboxCount, words, legend }) => ({
          before: null,
          after: pageOf({ id: 0.5, sandboxCount, legend }, words),
        }));
        return { ...verdict, pages: { ...pages, replaced } };
      },
    ],
    ["a change's row", (verdict) => ({ ...verdict, at: { ...verdict.at, utcMs: Number.NaN } })],
  ])("when %s is refused nothing of the poll is there", async (_, spoil) => {
    const { store, targetId, everything } = await openPollStore();
    const { first, second } = fullVerdict();
    await store.commitPoll(targetId, first);
    const before = await everything();
    await expect(store.commitPoll(targetId, spoil(second))).rejects.toThrow(
      /cannot store|constraint failed/,
    );
    expect(await everything()).toEqual(before);
    await store.commitPoll(targetId, second);
    expect(await store.outbox.openItems("oncall", 9)).toHaveLength(1);
  });

  it("a full disk is named as what it is, and when there is room again all goes on", async () => {
    const { store, targetId, everything, limitPages } = await openPollStore(
      join(tempFolder(), "sandwatch.db"),
    );
    const verdict = watchFleet().poll(manyServers(1_000));
    const before = await everything();
    await limitPages(2);
    await expect(store.commitPoll(targetId, verdict)).rejects.toThrow("database or disk is full");
    expect(await everything()).toEqual(before);
    await limitPages(1_000_000);
    await store.commitPoll(targetId, verdict);
    expect((await store.targets.snapshotOf(targetId)).serverCount).toBe(1_000);
  });

  it("when a target is not known nothing is there either", async () => {
    const { store, everything } = await openPollStore();
    const before = await everything();
    await expect(store.commitPoll(99, fullVerdict().first)).rejects.toThrow("FOREIGN KEY");
    expect(await everything()).toEqual(before);
  });

  it("also what a changed configuration does to incidents", async () => {
    const { store, targetId, everything } = await openPollStore();
    const { first, second } = fullVerdict();
    await store.commitPoll(targetId, first);
    const before = await everything();
    const { incidents } = second;
    const spoilt = {
      ...incidents,
      outbox: incidents.outbox.map((item) => ({ ...item, causedAtMs: 0.5 })),
    };
    await expect(store.commitIncidents(targetId, spoilt)).rejects.toThrow(
      /cannot store|constraint failed/,
    );
    expect(await everything()).toEqual(before);
    await store.commitIncidents(targetId, incidents);
    expect(await everything()).not.toEqual(before);
  });
});

function tenOccupied(): Readonly<Record<number, "occupied">> {
  return Object.fromEntries(Array.from({ length: 10 }, (_, index) => [index * 90, "occupied"]));
}
