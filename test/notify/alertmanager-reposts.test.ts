import { describe, expect, it } from "vitest";
import { about, accept, minuteMs, ofServers } from "./support/alertmanager.ts";
import { openAlertmanager, posted } from "./support/alertmanager.ts";
import { startMs } from "./support/items.ts";
import { hang, status } from "./support/receiver-server.ts";
import { firing, resolved } from "./support/told-store.ts";

const never = new AbortController().signal;
const many = (count: number) => Array.from({ length: count }, (_, index) => firing(`i${index}`));

describe("an Alertmanager receiver that was started", () => {
  it("posts firing alerts at once and each minute, ending five minutes ahead; resolved ones for 15", async () => {
    const { receiver, clock, server, commit, ended } = await openAlertmanager();
    await commit(resolved("a", startMs), firing("b"));
    receiver.start?.();
    for (let minute = 0; minute <= 16; minute++) {
      clock.advance(minute === 0 ? 0 : minuteMs);
      await ended(minute + 1);
    }
    const rounds = posted(server).map((alerts) => new Map(ofServers(alerts)));
    expect(rounds.map((round) => round.get("of-b"))).toEqual(rounds.map((_, minute) => minute + 5));
    const ofA = rounds.map((round) => round.get("of-a"));
    expect(ofA).toEqual([...Array<number>(16).fill(0), undefined]);
  });

  it("posts the latest text, that of a reminder after that of the firing", async () => {
    const { receiver, clock, server, commitAs, ended } = await openAlertmanager();
    const incident = firing("a", { rule: "target-down", subject: { kind: "target" } });
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

  it("lets an instance that hangs delay no other", async () => {
    const { receiver, clock, servers, commit, observed, logged, ended } = await openAlertmanager([
      hang,
      accept,
    ]);
    const [hanging, well] = servers;
    await commit(firing("a"));
    receiver.start?.();
    clock.advance(0);
    await ended(1);
    await hanging?.received(1);
    clock.advance(15_000);
    await ended(2);
    clock.advance(45_000);
    await ended(3);
    await hanging?.received(2);
    expect(well?.requests).toHaveLength(2);
    expect(observed).toEqual(["am timeout"]);
    expect(logged).toEqual(["alertmanager.failed 1"]);
    expect(hanging?.mostOpen).toBe(1);
  });

  it("begins no second round at an instance that is slow with the first", async () => {
    const answers: (() => void)[] = [];
    const secondRound = Promise.withResolvers<void>();
    let rounds = 0;
    const { receiver, clock, server, commit, ended } = await openAlertmanager(
      [(response) => void answers.push(() => response.end())],
      { onReposted: () => void (++rounds === 2 && secondRound.resolve()) },
    );
    await commit(...many(2_500));
    receiver.start?.();
    clock.advance(0);
    for (const request of [1, 2, 3, 4, 5]) {
      await server.received(request);
      clock.advance(14_000);
      // It has read its alerts while the first one is still under way.
      if (request === 5) await secondRound.promise;
      answers[request - 1]?.();
      await ended(request);
    }
    clock.advance(50_000);
    await server.received(6);
    // It is of the third minute's round: the second one's would end earlier.
    expect(ofServers(posted(server)[5])[0]?.[1]).toBe(7);
    expect(server.mostOpen).toBe(1);
  });

  it("posts to an instance that comes back what it missed, and logs both once", async () => {
    const { receiver, clock, server, commit, observed, logged, ended } = await openAlertmanager([
      status(503),
    ]);
    await commit(firing("a"));
    receiver.start?.();
    for (const count of [1, 2, 3, 4]) {
      clock.advance(count === 1 ? 0 : minuteMs);
      await ended(count);
      if (count !== 2) continue;
      await commit(resolved("a", startMs + minuteMs));
      server.answerWith(accept);
    }
    await receiver.close?.();
    expect(observed).toEqual(["am server_error", "am server_error"]);
    expect(logged).toEqual(["alertmanager.failed 1", "alertmanager.recovered 1"]);
    expect(ofServers(posted(server).at(-1))).toEqual([["of-a", 1]]);
  });

  it("is cut short when it is closed, without a timer or a failure", async () => {
    const { receiver, clock, server, commit, observed } = await openAlertmanager([hang]);
    await commit(firing("a"));
    receiver.start?.();
    clock.advance(0);
    await server.received(1);
    await receiver.close?.();
    expect(clock.armed).toBe(0);
    expect(observed).toEqual([]);
  });

  it("logs once that the store failed, and continues when the store does", async () => {
    let broken = true;
    let asked = (): void => {};
    const { receiver, clock, server, commit, logged } = await openAlertmanager([accept], {
      notifiedAlerts: (stored) => ({
        textsOf: (...query) => stored.textsOf(...query),
        notifiedTo: (...query) => {
          asked();
          return broken ? Promise.reject(new Error("broken")) : stored.notifiedTo(...query);
        },
      }),
    });
    await commit(firing("a"));
    expect(await receiver.send(about("a"), never)).toMatchObject({ kind: "failed" });
    receiver.start?.();
    const read = new Promise<void>((resolve) => (asked = resolve));
    clock.advance(0);
    await read;
    broken = false;
    clock.advance(minuteMs);
    await receiver.send(about("a"), never);
    expect(logged).toEqual(["delivery.store_failed"]);
    expect(server.requests.length).toBeGreaterThan(0);
  });
});

describe("an instance", () => {
  it.each([
    ["that accepts gets requests of 500", 200, [500, 500, 200]],
    ["that rejects some gets the rest", 400, [500, 500, 200]],
    ["that is down gets no more", 503, [500]],
  ])("%s", async (_, code, sizes) => {
    const { receiver, server, commit } = await openAlertmanager([
      (response, request, index) => status(index === 0 ? code : 200)(response, request, index),
    ]);
    await commit(...many(1_200));
    const result = await receiver.send({ ...about(), truncated: 1_200 }, never);
    expect(result).toMatchObject(
      code === 200 ? { kind: "delivered" } : { kind: "failed", detail: `HTTP ${code}` },
    );
    expect(posted(server).map((alerts) => alerts.length)).toEqual(sizes);
    const alerts = posted(server).flat();
    expect(new Set(alerts.map(({ labels }) => labels["server_id"])).size).toBe(alerts.length);
  });

  it("that hangs gets only a few notifications at a time, however many another accepts", async () => {
    const { receiver, servers, commit } = await openAlertmanager([hang, accept]);
    const [hanging, well] = servers;
    await commit(firing("a"));
    for (let count = 0; count < 20; count += 1) {
      expect(await receiver.send(about("a"), never)).toEqual({ kind: "delivered" });
    }
    await hanging?.received(8);
    expect(well?.requests).toHaveLength(20);
    expect(hanging?.mostOpen).toBe(8);
  });

  it("does not count as back because there was nothing to post", async () => {
    const { receiver, server, commit, logged } = await openAlertmanager([status(503)]);
    await commit(firing("a"));
    await receiver.send(about("a"), never);
    await receiver.send(about("unknown"), never);
    expect(server.requests).toHaveLength(1);
    expect(logged).toEqual(["alertmanager.failed 1"]);
  });
});
