import { describe, expect, it } from "vitest";
import { startMs } from "../../notify/support/items.ts";
import { firing, openNotifiedStore, resolved } from "../../notify/support/notified-store.ts";
import { engines } from "../support/engines.ts";

describe.each(engines)("on $name", (engine) => {
  it("gives the incidents told to a receiver that fire, and those resolved of late", async () => {
    const { store, commit, acknowledge } = await openNotifiedStore({}, engine);
    const pending = { name: "pending", heldSince: { ms: 0, polls: 0 } } as const;
    await commit(
      firing("fires"),
      firing("for both", { receivers: ["other", "am"] }),
      firing("for another", { receivers: ["other"] }),
      firing("told to nobody", { receivers: [] }),
      firing("pending", { phase: pending, receivers: [] }),
      resolved("just over", startMs),
      resolved("long over", startMs - 1),
      resolved("over for another", startMs, { receivers: ["other"] }),
    );
    await acknowledge("fires", "kim");
    const told = await store.notified.notifiedTo("am", startMs, "all");
    expect(told.map(({ incident }) => incident.id).toSorted()).toEqual([
      "fires",
      "for both",
      "just over",
    ]);
    expect(told.find(({ incident }) => incident.id === "fires")).toEqual({
      target: { region: "us", key: "research" },
      incident: firing("fires"),
      acknowledgedBy: "kim",
    });
  });

  it("gives of some incidents only those, and others of the same subjects", async () => {
    const { store, commit } = await openNotifiedStore({}, engine);
    const subject = { kind: "server", sandboxId: "s", serverId: "x", serverName: "x" } as const;
    const target = { subject: { kind: "target" }, rule: "blind" } as const;
    const pool = { kind: "pool", region: null, key: null, serverName: "github" } as const;
    await commit(
      firing("elsewhere"),
      resolved("before", startMs, { subject }),
      resolved("long before", startMs - 1, { subject }),
      firing("now", { subject }),
      resolved("blind before", startMs, target),
      firing("blind", target),
    );
    const outbox = { written: [], dropped: [], flaps: [], steps: [], outbox: [] };
    const written = [
      resolved("full before", startMs, { subject: pool }),
      firing("full", { subject: pool }),
    ];
    await store.commitIncidents(null, { ...outbox, written });
    const toldOf = async (...about: readonly string[]): Promise<readonly string[]> => {
      const told = await store.notified.notifiedTo("am", startMs, about);
      return told.map(({ incident }) => incident.id).toSorted();
    };
    expect(await toldOf("nothing")).toEqual(["blind before", "full before"]);
    expect(await toldOf("before")).toEqual(["before", "blind before", "full before", "now"]);
    expect(await toldOf("blind before")).toEqual(["blind", "blind before", "full before"]);
    expect(await toldOf("full before")).toEqual(["blind before", "full", "full before"]);
  });

  it("gives what was said last of each incident to a receiver", async () => {
    const { store, commit } = await openNotifiedStore(
      { condition: "in error", runbookUrlTemplate: "u" },
      engine,
    );
    await commit(firing("a"), firing("b", { receivers: ["other"] }));
    await commit(resolved("a", startMs));
    expect([...(await store.notified.textsOf("am", ["a", "b", "c"]))]).toEqual([
      ["a", { condition: "in error", summaryTemplate: null, runbookUrlTemplate: "u" }],
    ]);
  });

  it("gives since when each receiver waits, for notifications and for what is in none", async () => {
    const { store, commit } = await openNotifiedStore({}, engine);
    expect(await store.outbox.waiting()).toEqual([]);
    await commit(firing("a", { receivers: ["am", "other"] }));
    const [item] = await store.outbox.openItems("other", 1);
    await store.outbox.compose([
      {
        notification: {
          id: "msg_1",
          receiver: "other",
          type: "incident.firing",
          rule: "server-error",
          severity: "critical",
          group: {},
          summary: "",
          runbookUrl: null,
          createdAtMs: startMs + 5,
          causedAtMs: startMs,
          incidents: [],
          truncated: 0,
        },
        itemSeqs: [item?.seq ?? 0],
        groupNames: [],
        nextAttemptAtMs: 0,
        giveUpAtMs: 0,
      },
    ]);
    expect(await store.outbox.waiting()).toEqual([
      { receiver: "am", oldestPendingMs: null, oldestItemMs: startMs },
      { receiver: "other", oldestPendingMs: startMs + 5, oldestItemMs: null },
    ]);
  });
});
