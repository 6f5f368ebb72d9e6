import { describe, expect, it } from "vitest";
import type { NotifiedAlerts } from "../../src/notify/receivers/alertmanager-alerts.ts";
import { minuteMs, ofServers, openAlertmanager, posted, telling } from "./support/alertmanager.ts";
import { startMs } from "./support/items.ts";
import { hang, startReceiverServer, status } from "./support/receiver-server.ts";
import { firing, openToldStore, resolved } from "./support/told-store.ts";

const never = new AbortController().signal;

describe("an Alertmanager receiver that was started", () => {
  it("posts at once what fires, and again each minute, always five minutes ahead", async () => {
    const { store, commit } = await openToldStore();
    const server = await startReceiverServer(status(200));
    const { receiver, clock, ended } = openAlertmanager(store.told, [server]);
    await commit(firing("a"));
    receiver.start?.();
    for (const count of [1, 2, 3]) {
      clock.advance(count === 1 ? 0 : minuteMs);
      await ended(count);
    }
    expect(posted(server).map(ofServers)).toEqual([[["of-a", 5]], [["of-a", 6]], [["of-a", 7]]]);
  });

  it("posts again in the latest words, those of a reminder after those of the firing", async () => {
    const { store, commitAs } = await openToldStore();
    const server = await startReceiverServer(status(200));
    const { receiver, clock, ended } = openAlertmanager(store.told, [server]);
    const incident = firing("a", { rule: "target-blind", subject: { kind: "target" } });
    await commitAs({ condition: "down (timeout)" }, incident);
    receiver.start?.();
    clock.advance(0);
    await ended(1);
    const runbookUrlTemplate = "https://runbooks.example.com/{key}";
    await commitAs({ condition: "down (network)", runbookUrlTemplate }, incident);
    clock.advance(minuteMs);
    await ended(2);
    expect(posted(server).map(([alert]) => alert?.annotations)).toMatchObject([
      { summary: "us (research) down (timeout)" },
      {
        summary: "us (research) down (network)",
        runbook_url: "https://runbooks.example.com/research",
      },
    ]);
  });

  it("posts what was resolved for 15 minutes, as long over as it is", async () => {
    const { store, commit } = await openToldStore();
    const server = await startReceiverServer(status(200));
    const { receiver, clock, ended } = openAlertmanager(store.told, [server]);
    await commit(resolved("a", startMs), firing("b"));
    receiver.start?.();
    for (let minute = 0; minute <= 16; minute++) {
      clock.advance(minute === 0 ? 0 : minuteMs);
      await ended(minute + 1);
    }
    const rounds = posted(server).map((alerts) => new Map(ofServers(alerts)));
    expect(rounds.map((round) => round.get("of-a"))).toEqual([
      ...Array<number>(16).fill(0),
      undefined,
    ]);
    expect(rounds.map((round) => round.get("of-b"))).toEqual(rounds.map((_, minute) => minute + 5));
  });

  it("lets an instance that hangs delay no other, with no second round beside the first", async () => {
    const { store, commit } = await openToldStore();
    const well = await startReceiverServer(status(200));
    const hanging = await startReceiverServer(hang);
    const { receiver, clock, observed, logged, ended } = openAlertmanager(store.told, [
      hanging,
      well,
    ]);
    await commit(firing("a"));
    receiver.start?.();
    clock.advance(0);
    await ended(1);
    await hanging.received(1);
    clock.advance(15_000);
    await ended(2);
    clock.advance(45_000);
    await ended(3);
    await hanging.received(2);
    expect(well.requests).toHaveLength(2);
    expect(observed).toEqual(["am timeout"]);
    expect(logged).toEqual(["alertmanager.failed 1"]);
    expect(hanging.mostOpen).toBe(1);
  });

  it("gives an instance that hangs only a few messages at a time, however many another takes", async () => {
    const { store, commit } = await openToldStore();
    const well = await startReceiverServer(status(200));
    const hanging = await startReceiverServer(hang);
    const { receiver } = openAlertmanager(store.told, [hanging, well]);
    await commit(firing("a"));
    for (let message = 0; message < 20; message += 1) {
      expect(await receiver.send(telling("a"), never)).toEqual({ kind: "delivered" });
    }
    await hanging.received(8);
    expect(well.requests).toHaveLength(20);
    expect(hanging.mostOpen).toBe(8);
  });

  it("begins no second round at an instance that is slow with the first", async () => {
    const { store, commit } = await openToldStore();
    const answers: (() => void)[] = [];
    const slow = await startReceiverServer((response) => void answers.push(() => response.end()));
    const { receiver, clock, ended } = openAlertmanager(store.told, [slow]);
    await commit(...Array.from({ length: 2_500 }, (_, index) => firing(`i${index}`)));
    receiver.start?.();
    clock.advance(0);
    for (const request of [1, 2, 3, 4, 5]) {
      await slow.received(request);
      clock.advance(14_000);
      answers[request - 1]?.();
      await ended(request);
    }
    clock.advance(50_000);
    await slow.received(6);
    // It is of the third minute's round: the second one's would end earlier.
    expect(ofServers(posted(slow)[5])[0]?.[1]).toBe(7);
    expect(slow.mostOpen).toBe(1);
  });

  it("tells an instance that comes back what it missed, and logs both once", async () => {
    const { store, commit } = await openToldStore();
    const away = await startReceiverServer(status(503));
    const { receiver, clock, observed, logged, ended } = openAlertmanager(store.told, [away]);
    await commit(firing("a"));
    receiver.start?.();
    for (const count of [1, 2]) {
      clock.advance(count === 1 ? 0 : minuteMs);
      await ended(count);
    }
    await commit(resolved("a", startMs + minuteMs));
    away.answerWith(status(200));
    for (const count of [3, 4]) {
      clock.advance(minuteMs);
      await ended(count);
    }
    await receiver.close?.();
    expect(observed).toEqual(["am server_error", "am server_error"]);
    expect(logged).toEqual(["alertmanager.failed 1", "alertmanager.recovered 1"]);
    expect(ofServers(posted(away).at(-1))).toEqual([["of-a", 1]]);
  });

  it("posts thousands of alerts in requests of 500", async () => {
    const { store, commit } = await openToldStore();
    const server = await startReceiverServer(status(200));
    const { receiver, clock, ended } = openAlertmanager(store.told, [server]);
    await commit(...Array.from({ length: 1_200 }, (_, index) => firing(`i${index}`)));
    receiver.start?.();
    clock.advance(0);
    await ended(3);
    expect(posted(server).map((alerts) => alerts.length)).toEqual([500, 500, 200]);
    const ids = posted(server).flatMap((alerts) => alerts.map(({ labels }) => labels["server_id"]));
    expect(new Set(ids).size).toBe(1_200);
  });

  it.each([
    ["posts the rest to an instance that rejects some of it", 400, [500, 500, 200]],
    ["posts no more to an instance that takes nothing at all", 503, [500]],
  ])("%s", async (_, code, sizes) => {
    const { store, commit } = await openToldStore();
    const server = await startReceiverServer(status(200));
    server.answerWith((response, request, index) =>
      status(index === 0 ? code : 200)(response, request, index),
    );
    const { receiver } = openAlertmanager(store.told, [server]);
    await commit(...Array.from({ length: 1_200 }, (_unused, index) => firing(`i${index}`)));
    const result = await receiver.send({ ...telling(), truncated: 1_200 }, never);
    expect(result).toMatchObject({ kind: "failed", detail: `HTTP ${code}` });
    expect(posted(server).map((alerts) => alerts.length)).toEqual(sizes);
  });

  it("takes nothing to post for no sign that an instance is back", async () => {
    const { store, commit } = await openToldStore();
    const away = await startReceiverServer(status(503));
    const { receiver, logged } = openAlertmanager(store.told, [away]);
    await commit(firing("a"));
    await receiver.send(telling("a"), never);
    await receiver.send(telling("unknown"), never);
    expect(away.requests).toHaveLength(1);
    expect(logged).toEqual(["alertmanager.failed 1"]);
  });

  it("logs once that the store failed, and goes on when it is back", async () => {
    const { store, commit } = await openToldStore();
    await commit(firing("a"));
    let broken = true;
    let asked = (): void => {};
    const toldAlerts: NotifiedAlerts = {
      wordsOf: (...question) => store.told.wordsOf(...question),
      toldTo: (...question) => {
        asked();
        return broken ? Promise.reject(new Error("broken")) : store.told.toldTo(...question);
      },
    };
    const server = await startReceiverServer(status(200));
    const { receiver, clock, logged } = openAlertmanager(toldAlerts, [server]);
    expect(await receiver.send(telling("a"), never)).toMatchObject({ kind: "failed" });
    receiver.start?.();
    const read = new Promise<void>((resolve) => (asked = resolve));
    clock.advance(0);
    await read;
    broken = false;
    clock.advance(minuteMs);
    await receiver.send(telling("a"), never);
    expect(logged).toEqual(["delivery.store_failed"]);
    expect(server.requests.length).toBeGreaterThan(0);
  });

  it("ends what hangs when it is closed, and leaves no timer", async () => {
    const { store, commit } = await openToldStore();
    const hanging = await startReceiverServer(hang);
    const { receiver, clock, observed } = openAlertmanager(store.told, [hanging]);
    await commit(firing("a"));
    receiver.start?.();
    clock.advance(0);
    await hanging.received(1);
    await receiver.close?.();
    expect(clock.armed).toBe(0);
    expect(observed).toEqual([]);
  });
});
