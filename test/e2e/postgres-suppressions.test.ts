import { describe, expect, it } from "vitest";
import {
  judgeAndCommit,
  SuppressionsChangedError,
  type CurrentSuppressions,
} from "../../src/alerts/current-suppressions.ts";
import { restoreSuppressions } from "../../src/api/suppressions.ts";
import { outboxItem } from "../notify/support/items.ts";
import { firing, resolved } from "../notify/support/notified-store.ts";
import { notificationOf } from "../notify/support/notifications.ts";
import { noOutcome } from "../store/support/outbox-store.ts";
import { addTarget } from "../support/add-target.ts";
import { research, startMs } from "../support/fleet.ts";
import { connect, execute, openTwo, silence } from "./support/replica-stores.ts";
import { until } from "./support/until.ts";

const clock = { now: () => ({ utcMs: 1, monotonicMs: 0 }) };
const byKim = { author: "kim", note: null, atMs: startMs };
type Replicas = Awaited<ReturnType<typeof openTwo>>;
type Store = Replicas["one"]["store"];

const acknowledged = (id: string) =>
  outboxItem({ type: "incident.acknowledged", incident: { id, acknowledgedBy: "kim" } });

/** As a poll resolves an incident, and says who acknowledged it. */
async function resolve(store: Store, suppressions: CurrentSuppressions, id: string) {
  await judgeAndCommit(suppressions, async ({ at }) => {
    const { version, acknowledgedBy } = at(1);
    const incident = { id, acknowledgedBy: acknowledgedBy.get(id) ?? null };
    const outbox = [outboxItem({ type: "incident.resolved", incident })];
    const written = [resolved(id, startMs)];
    await store.commitIncidents(null, {
      ...noOutcome,
      written,
      outbox,
      suppressionsVersion: version,
    });
  });
}

/** Incidents that fire, and the suppressions as each replica has them in memory. */
async function openFiring(ids: readonly string[]) {
  const { one, other } = await openTwo();
  await one.store.commitIncidents(null, { ...noOutcome, written: ids.map((id) => firing(id)) });
  const held = await restoreSuppressions(other.store, [], clock);
  const items = async () =>
    (await one.store.outbox.openItems("oncall", 1_000)).map(({ type, incident }) => [
      incident.id,
      type,
      incident.acknowledgedBy,
    ]);
  return { one, other, held, items };
}

describe("replicas on one store", () => {
  it("commit nothing that was judged before another one added a silence, and notice that", async () => {
    const { one, other } = await openTwo();
    const { id } = await addTarget(other.store, research);
    const held = await restoreSuppressions(other.store, [], clock);
    const heard: string[] = [];
    other.cluster.onNotice((topic) => void heard.push(topic));
    await one.store.silences.add(silence("s"));
    const outcome = { ...noOutcome, written: [firing("fires")], outbox: [outboxItem()] };
    const commit = ({ at }: Pick<CurrentSuppressions, "at">) =>
      other.store.commitIncidents(id, { ...outcome, suppressionsVersion: at(1).version });
    await expect(commit(held)).rejects.toThrow(SuppressionsChangedError);
    const silenced: number[] = [];
    await judgeAndCommit(held, async (current) => {
      silenced.push(current.at(1).silenced.length);
      await commit(current);
    });
    expect(silenced).toEqual([0, 1]);
    await until("noticed", async () => heard.includes("suppressions"));
  });

  it("acknowledge and resolve an incident at the same moment: messages are in the order of both", async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `incident-${index}`);
    const { one, other, held, items } = await openFiring(ids);
    let both = 0;
    for (const id of ids) {
      const acknowledging = one.store.acknowledgements.acknowledge({ ids: [id] }, byKim, () => [
        acknowledged(id),
      ]);
      // Once it certainly comes first.
      if (both === 0) await acknowledging;
      const [outcome] = await Promise.all([acknowledging, resolve(other.store, held, id)]);
      const sent = (await items()).filter(([of]) => of === id);
      const isFirst = outcome.acknowledged.length === 1;
      both += Number(isFirst);
      expect(sent).toEqual([
        ...(isFirst ? [[id, "incident.acknowledged", "kim"]] : []),
        [id, "incident.resolved", isFirst ? "kim" : null],
      ]);
    }
    expect(both).toBeGreaterThan(0);
  });

  it("acknowledge nothing that another one is about to resolve", async () => {
    const { one, items } = await openFiring(["fires"]);
    const { schema } = one.settings;
    const resolving = await connect();
    await resolving.query(`begin; set search_path to ${schema};
      update commit_sequence set value = value + 1;
      update incidents set phase = 'resolved', resolved_reason = 'recovered' where id = 'fires'`);
    const acknowledging = one.store.acknowledgements.acknowledge({}, byKim, () => [
      acknowledged("fires"),
    ]);
    const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%commit_sequence%'`;
    await until("waits", async () => (await execute(waiting)).length > 0);
    await resolving.query("commit");
    expect(await acknowledging).toEqual({ acknowledged: [], already: [] });
    expect(await items()).toEqual([]);
  });

  it("compose once what was acknowledged without a daemon, also if they start at the same time", async () => {
    const { one, other, items } = await openFiring(["fires"]);
    await one.store.acknowledgements.acknowledge({}, byKim, null);
    const compose = () => [acknowledged("fires")];
    await Promise.all(
      [one, other, one, other].map(({ store }) => store.acknowledgements.notifyPending(compose)),
    );
    expect(await items()).toEqual([["fires", "incident.acknowledged", "kim"]]);
  });

  it("replay a dead letter once, and its owner notices it", async () => {
    const { one, other } = await openTwo();
    await one.store.commitIncidents(null, {
      ...noOutcome,
      written: [firing("a")],
      outbox: [outboxItem()],
    });
    const [item] = await one.store.outbox.openItems("oncall", 9);
    const notification = notificationOf({
      id: "n",
      receiver: "oncall",
      createdAtMs: 1,
      summary: "s",
    });
    const times = { nextAttemptAtMs: 1, giveUpAtMs: 2 };
    const itemSeqs = [item?.seq ?? 0];
    await one.store.outbox.compose([{ notification, itemSeqs, groupNames: [], ...times }]);
    const failure = { reason: "rejected", detail: "HTTP 400" } as const;
    const dead = { state: "dead", reason: failure.reason, settledAtMs: 1 } as const;
    await one.store.outbox.settle(1, dead, { atMs: 1, failure }, () => noOutcome);
    const heard: string[] = [];
    one.cluster.onNotice((topic) => void heard.push(topic));
    const which = { receiver: "oncall" };
    const counts = await Promise.all(
      [one, other].map(({ store }) => store.notifications.replay(which, () => times)),
    );
    expect(counts.toSorted((a, b) => a - b)).toEqual([0, 1]);
    await until("noticed", async () => heard.includes("outbox"));
    expect(heard).toEqual(["outbox"]);
  });
});
