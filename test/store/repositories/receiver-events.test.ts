import { describe, expect, it } from "vitest";
import { listing, startMs, watchFleet } from "../../support/fleet.ts";
import { engines } from "../support/engines.ts";
import { openPollStore } from "../support/poll-store.ts";

const dayMs = 86_400_000;

describe.each(engines)("events that receivers sent back, on $name,", (engine) => {
  it("are known until they are old, with their notes, and which alert they were about last", async () => {
    const { kysely, store, targetId, rows } = await openPollStore(engine);
    const { poll } = watchFleet();
    for (const a of ["error", "idle"] as const) {
      await store.commitPoll(targetId, poll(listing({ a })));
    }
    const { receiverEvents } = store;
    const of = (eventId: string, remoteId: string, alert: string | null, receiver = "pager") => ({
      receiver,
      eventId,
      remoteId,
      alert,
    });
    const note = { incidentId: "incident-1", atMs: startMs + 1, author: "ann", note: "b\0" };
    const before = await store.incidents.newest();
    await receiverEvents.handled(of("1", "P1", "one"), [], startMs);
    await receiverEvents.handled(of("2", "P1", "two"), [note, note], startMs + 1);
    const earlier = { ...note, atMs: startMs, note: "a" };
    await receiverEvents.handled(of("3", "P1", null), [earlier], startMs + 2);
    await receiverEvents.handled(of("1", "P1", "three", "other"), [], startMs);
    expect(await receiverEvents.isHandled("pager", "1")).toBe(true);
    expect(await receiverEvents.isHandled("other", "2")).toBe(false);
    expect(await receiverEvents.alertOf("pager", "P1")).toBe("two");
    expect(await receiverEvents.alertOf("pager", "P2")).toBeNull();
    const notes = await receiverEvents.notesOf(["incident-1", "incident-2"]);
    expect(notes).toEqual([earlier, { ...note, note: String.raw`b\u0000` }]);
    expect(await receiverEvents.notesOf([])).toEqual([]);
    // Pages that are open learn of it.
    expect((await store.incidents.after(before, {}, 10)).incidents).toHaveLength(1);
    await receiverEvents.handled(of("4", "P4", "four"), [], startMs + 91 * dayMs);
    expect(await receiverEvents.isHandled("pager", "1")).toBe(false);
    expect(await receiverEvents.isHandled("other", "1")).toBe(true);
    // They are deleted with their incident.
    await kysely.deleteFrom("incidents").execute();
    expect(await rows("incident_notes")).toEqual([]);
  });
});
