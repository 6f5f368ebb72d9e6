import { describe, expect, it } from "vitest";
import { Secret } from "../../src/lib/secret.ts";
import { about, accept, minuteMs, ofServers } from "./support/alertmanager.ts";
import { openAlertmanager, posted } from "./support/alertmanager.ts";
import { incidentOf, startMs } from "./support/items.ts";
import { firing, resolved } from "./support/notified-store.ts";
import { hang, status } from "./support/receiver-server.ts";

const many = (count: number) => Array.from({ length: count }, (_, index) => firing(`i${index}`));

describe("an alert", () => {
  it("is posted as the API accepts it, below the URL, with the incident's labels", async () => {
    const { send, clock, server, commitAs, acknowledge } = await openAlertmanager([accept], {
      headers: new Map([["authorization", new Secret("Bearer token")]]),
      generatorUrl: "https://sandwatch.example.com/",
    });
    const templates = {
      summaryTemplate: "{server_name} is broken",
      runbookUrlTemplate: "https://runbooks.example.com/{server_name}",
    };
    await commitAs(templates, firing("a"));
    await acknowledge("a", "kim");
    clock.advance(minuteMs);
    expect(await send(about("a"))).toEqual({ kind: "delivered" });
    expect(server.requests[0]).toMatchObject({
      path: "/T0PSECRET/api/v2/alerts",
      headers: { "content-type": "application/json", authorization: "Bearer token" },
    });
    const alert = {
      labels: {
        alertname: "server-error",
        severity: "critical",
        subject: "server",
        region: "us",
        key: "research",
        sandbox_id: "sandbox-1",
        server_id: "of-a",
        server_name: "github",
      },
      annotations: {
        summary: "github is broken",
        runbook_url: "https://runbooks.example.com/github",
        incident_id: "a",
        status: "error",
        previous_status: "occupied",
        acknowledged_by: "kim",
      },
      startsAt: "2026-11-20T09:30:00.000Z",
      endsAt: "2026-11-20T09:36:00.000Z",
      generatorURL: "https://sandwatch.example.com/",
    };
    expect(posted(server)).toEqual([[alert]]);
  });

  it("ends when its incident was resolved, with the same labels", async () => {
    const { send, clock, server, commit } = await openAlertmanager();
    await commit(firing("a"));
    await send(about("a"));
    clock.advance(minuteMs);
    await commit(resolved("a", startMs + 30_000));
    await send(about("a"));
    const [started, ended] = posted(server).map(([alert]) => alert);
    expect(ended?.labels).toEqual(started?.labels);
    expect(ended).toMatchObject({
      endsAt: "2026-11-20T09:30:30.000Z",
      annotations: {
        resolved_reason: "recovered",
        summary: expect.stringContaining("Resolved after 30 s: "),
      },
    });
  });

  it("is of a target, a pool or a receiver, too, and has names that can be sent", async () => {
    const { send, server, commit } = await openAlertmanager();
    const unreadable = {
      kind: "server",
      sandboxId: "s",
      serverId: "",
      serverName: "\ud800x\u202e\u200b",
    } as const;
    const pool = { kind: "pool", region: "us", key: null, serverName: "github" } as const;
    await commit(
      firing("a", { subject: { kind: "target" }, status: null }),
      firing("b", { subject: pool, status: null }),
      firing("c", { subject: { kind: "receiver", receiver: "x" }, status: null }),
      firing("d", { subject: unreadable }),
    );
    await send(about("a", "b", "c", "d"));
    const common = { alertname: "server-error", severity: "critical" };
    const place = { region: "us", key: "research" };
    expect(new Set(posted(server)[0]?.map((alert) => alert.labels))).toEqual(
      new Set([
        { ...common, ...place, subject: "target" },
        { ...common, subject: "pool", region: "us", server_name: "github" },
        { ...common, ...place, subject: "receiver", receiver: "x" },
        { ...common, ...place, subject: "server", sandbox_id: "s", server_name: "\ufffdx " },
      ]),
    );
  });

  it("neither starts nor ends in the future when the wall clock was set back", async () => {
    const { send, clock, server, commit } = await openAlertmanager();
    await commit(firing("a"), resolved("b", startMs + 1));
    clock.stepUtc(-60 * minuteMs);
    await send(about("a", "b"));
    const times = posted(server)[0]?.map(({ startsAt, endsAt }) => [startsAt, endsAt]);
    expect(times?.toSorted()).toEqual([
      ["2026-11-20T08:30:00.000Z", "2026-11-20T08:30:00.000Z"],
      ["2026-11-20T08:30:00.000Z", "2026-11-20T08:35:00.000Z"],
    ]);
  });
});

describe("a notification", () => {
  it("posts only its own alerts, as they are now, or all if it only counts some", async () => {
    const { send, clock, server, commit } = await openAlertmanager();
    await commit(firing("a"), firing("b"), firing("c", { receivers: ["other"] }));
    clock.advance(minuteMs);
    await commit(resolved("b", startMs + minuteMs));
    await send(about("b", "c"));
    await send({ ...about("a"), truncated: 1 });
    expect(ofServers(posted(server)[0])).toEqual([["of-b", 1]]);
    expect(posted(server)[1]).toHaveLength(2);
  });

  it("of a resolve that is sent late does not end the next incident of that server", async () => {
    const { send, clock, server, commit } = await openAlertmanager();
    const { subject } = firing("a");
    clock.advance(minuteMs);
    await commit(resolved("a", startMs + 1), firing("b", { subject, startedAtMs: startMs + 2 }));
    await send(about("a"));
    expect(ofServers(posted(server)[0])).toEqual([["of-a", 6]]);
    expect(posted(server)[0]?.[0]?.annotations["incident_id"]).toBe("b");
  });

  it("is delivered when one instance accepted it, and another gets only a few at a time", async () => {
    const { send, servers, commit } = await openAlertmanager([hang, accept]);
    const [hanging, well] = servers;
    await commit(firing("a"));
    for (let count = 0; count < 20; count += 1) {
      expect(await send(about("a"))).toEqual({ kind: "delivered" });
    }
    await hanging?.received(8);
    expect([well?.requests.length, hanging?.mostOpen]).toEqual([20, 8]);
  });

  it.each([
    [[503, 503], "server_error"],
    [[400, 503], "server_error"],
    [[400, 400], "rejected"],
    [[307, 429], "rate_limited"],
  ])("fails when no instance accepted it: %j means %s", async (codes, reason) => {
    const { send, commit } = await openAlertmanager(codes.map((code) => status(code)));
    await commit(firing("a"));
    expect(await send(about("a"))).toMatchObject({ kind: "failed", reason });
  });

  it("for a test is an alert of each incident for all instances, and all must accept them", async () => {
    const { send, server, servers } = await openAlertmanager([accept, status(500)]);
    const incidents = [incidentOf(), incidentOf({ serverId: "server-2" })];
    const test = { ...about(), type: "test", rule: "sandwatch-test", incidents } as const;
    const detail = "Alertmanager 2: HTTP 500";
    expect(await send(test)).toMatchObject({ kind: "failed", detail });
    servers[1]?.answerWith(accept);
    expect(await send(test)).toEqual({ kind: "delivered" });
    const alerts = posted(server)[0] ?? [];
    expect(alerts.map(({ labels }) => [labels["alertname"], labels["server_id"]])).toEqual([
      ["sandwatch-test", "server-1"],
      ["sandwatch-test", "server-2"],
    ]);
    const end = { ...test, incidents: [incidentOf({ state: "resolved" })] };
    expect([await send(end), posted(server).length]).toEqual([{ kind: "delivered" }, 2]);
  });

  it.each([
    ["that accepts gets requests of 500", 200, [500, 500, 200]],
    ["that rejects some gets the rest", 400, [500, 500, 200]],
    ["that is down gets no more", 503, [500]],
  ])("of many alerts: an instance %s", async (_, code, sizes) => {
    const { send, server, commit } = await openAlertmanager([
      (response, request, index) => status(index === 0 ? code : 200)(response, request, index),
    ]);
    await commit(...many(1_200));
    expect(await send({ ...about(), truncated: 1_200 })).toMatchObject(
      code === 200 ? { kind: "delivered" } : { kind: "failed", detail: `HTTP ${code}` },
    );
    expect(posted(server).map((alerts) => alerts.length)).toEqual(sizes);
    const alerts = posted(server).flat();
    expect(new Set(alerts.map(({ labels }) => labels["server_id"])).size).toBe(alerts.length);
  });
});

describe("a receiver that was started", () => {
  it("posts firing alerts at once and each minute, ending five minutes ahead; resolved ones for 15", async () => {
    const { receiver, server, commit, ended } = await openAlertmanager();
    await commit(resolved("a", startMs), firing("b"));
    receiver.start?.();
    for (let minute = 0; minute <= 16; minute++) await ended(minute + 1, minute && minuteMs);
    const rounds = posted(server).map((alerts) => new Map(ofServers(alerts)));
    expect(rounds.map((round) => round.get("of-b"))).toEqual(rounds.map((_, minute) => minute + 5));
    const ofA = rounds.map((round) => round.get("of-a"));
    expect(ofA).toEqual([...Array<number>(16).fill(0), undefined]);
  });

  it("posts the latest text, that of a reminder after that of the firing", async () => {
    const { receiver, server, commitAs, ended } = await openAlertmanager();
    const incident = firing("a", { rule: "target-down", subject: { kind: "target" } });
    receiver.start?.();
    for (const [round, why] of ["timeout", "network"].entries()) {
      await commitAs({ condition: "down", detail: why }, incident);
      await ended(round + 1, round * minuteMs);
      const summary = `us/research down since 2026-11-20 09:30 UTC (${why})`;
      expect(posted(server)[round]?.[0]?.annotations).toMatchObject({ summary });
    }
  });

  it("posts to an instance that comes back what it missed, and logs both once", async () => {
    const { receiver, send, server, commit, observed, logged, ended } = await openAlertmanager([
      status(503),
    ]);
    await commit(firing("a"));
    receiver.start?.();
    await ended(1);
    await ended(2, minuteMs);
    // There is nothing to post, which does not count as back.
    await send(about("unknown"));
    expect(logged).toEqual(["alertmanager.failed 1"]);
    await commit(resolved("a", startMs + minuteMs));
    server.answerWith(accept);
    await ended(3, minuteMs);
    await ended(4, minuteMs);
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
    expect([clock.armed, observed]).toEqual([0, []]);
  });

  it("logs once that the store failed, and continues when the store does", async () => {
    let broken = true;
    const { send, commit, logged } = await openAlertmanager([accept], {
      notifiedAlerts: (stored) => ({
        ...stored,
        notifiedTo: (...query) =>
          broken ? Promise.reject(new Error("broken")) : stored.notifiedTo(...query),
      }),
    });
    await commit(firing("a"));
    for (let time = 0; time < 2; time++) {
      expect(await send(about("a"))).toMatchObject({ kind: "failed" });
    }
    broken = false;
    expect(await send(about("a"))).toEqual({ kind: "delivered" });
    expect(logged).toEqual(["delivery.store_failed"]);
  });
});
