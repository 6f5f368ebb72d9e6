import { describe, expect, it } from "vitest";
import { insertOutboxItems } from "../../../src/store/outbox.ts";
import { outboxItem } from "../../notify/support/items.ts";
import { openOutboxStore } from "../support/outbox-store.ts";
import { engines } from "../support/engines.ts";

describe.each(engines)("on $name", (engine) => {
  const ofNoServer = { sandboxId: null, serverId: null, serverName: null, status: null } as const;

  describe("items", () => {
    it("come back as they were written, oldest first, for their receiver alone", async () => {
      const { kysely, outbox } = await openOutboxStore(engine);
      const items = Array.from({ length: 450 }, (_, n) =>
        outboxItem({ incident: { id: `i${n}` } }),
      );
      await insertOutboxItems(kysely, [...items, outboxItem({ receiver: "other" })]);
      const open = await outbox.openItems("oncall", 1_000);
      expect(open).toEqual(items.map((item, index) => ({ ...item, seq: index + 1 })));
      for (const limit of [3, 200, 300]) {
        expect(await outbox.openItems("oncall", limit)).toEqual(open.slice(0, limit));
      }
    });

    it.each<[string, Parameters<typeof outboxItem>[0]]>([
      ["a server", {}],
      ["a server that is over", { type: "incident.resolved" }],
      ["a server that is known to flap", { incident: { flapping: true, acknowledgedBy: "kim" } }],
      ["a target", { incident: { ...ofNoServer, subject: "target" } }],
      ["a pool of all", { incident: { ...ofNoServer, subject: "pool", region: null, key: null } }],
      ["a probe", { incident: { ...ofNoServer, subject: "probe", probe: "login" } }],
      ["a receiver", { incident: { ...ofNoServer, subject: "receiver", receiver: "mail" } }],
      [
        "a rule with words of its own",
        { summaryTemplate: "{rule}", runbookUrlTemplate: "https://a" },
      ],
    ])("come back as they were written, of %s", async (_, fields) => {
      const { kysely, outbox } = await openOutboxStore(engine);
      const item = outboxItem(fields);
      await insertOutboxItems(kysely, [item]);
      expect(await outbox.openItems("oncall", 1)).toEqual([{ ...item, seq: 1 }]);
    });

    it("are removed after long enough where they wait for receivers that are not configured", async () => {
      const { kysely, outbox, store } = await openOutboxStore(engine);
      const waiting = (receiver: string, causedAtMs: number) =>
        outboxItem({ receiver, causedAtMs, incident: { id: `${receiver}-${causedAtMs}` } });
      const items = [waiting("gone", 1), waiting("gone", 5), waiting("oncall", 1)];
      await insertOutboxItems(kysely, items);
      expect(await store.prune.owedItems(5, ["oncall"])).toBe(false);
      expect((await outbox.openItems("gone", 9)).map(({ causedAtMs }) => causedAtMs)).toEqual([5]);
      expect(await outbox.openItems("oncall", 9)).toHaveLength(1);
      await store.prune.owedItems(9, []);
      expect(await outbox.openItems("oncall", 9)).toEqual([]);
    });

    it("are stored without what is null or in columns of its own", async () => {
      const { kysely } = await openOutboxStore(engine);
      const item = outboxItem();
      await insertOutboxItems(kysely, [item]);
      const { body } = await kysely
        .selectFrom("outbox_items")
        .select("body")
        .executeTakeFirstOrThrow();
      for (const left of ["null", "false", item.type, item.incident.id, "oncall", "causedAtMs"]) {
        expect(body).not.toContain(left);
      }
    });

    it("vanish with the transaction that wrote them", async () => {
      const { kysely, outbox } = await openOutboxStore(engine);
      const poll = kysely.transaction().execute(async (transaction) => {
        await insertOutboxItems(transaction, [outboxItem()]);
        throw new Error("the poll's commit failed");
      });
      await expect(poll).rejects.toThrow("commit failed");
      expect(await outbox.openItems("oncall", 10)).toEqual([]);
    });
  });
});
