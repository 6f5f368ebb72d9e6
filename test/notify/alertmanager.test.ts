import { describe, expect, it } from "vitest";
import type { Notification } from "../../src/core/notification.ts";
import { Secret } from "../../src/platform/secret.ts";
import { minuteMs, ofServers, openAlertmanager, posted, telling } from "./support/alertmanager.ts";
import { startMs } from "./support/items.ts";
import { hang, startReceiverServer, status } from "./support/receiver-server.ts";
import { firing, openToldStore, resolved } from "./support/told-store.ts";

const never = new AbortController().signal;

describe("an alert", () => {
  it("is posted as the API has it, with the incident's labels", async () => {
    const { store, commit, acknowledge } = await openToldStore({
      summaryTemplate: "{server_name} is broken",
      runbookUrlTemplate: "https://runbooks.example.com/{server_name}",
    });
    const server = await startReceiverServer(status(200));
    const { receiver, clock } = openAlertmanager(store.told, [server], {
      bearerToken: new Secret("token"),
      generatorUrl: "https://sandwatch.example.com/",
    });
    await commit(firing("a"));
    await acknowledge("a", "kim");
    clock.advance(minuteMs);
    expect(await receiver.send(telling("a"), never)).toEqual({ kind: "delivered" });

    expect(server.requests[0]).toMatchObject({
      path: "/T0PSECRET/api/v2/alerts",
      headers: { "content-type": "application/json", authorization: "Bearer token" },
    });
    expect(posted(server)).toEqual([
      [
        {
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
        },
      ],
    ]);
  });

  it.each(["", "/", "/below", "/below//"])(
    "is posted below the configured address: %j",
    async (path) => {
      const { store, commit } = await openToldStore();
      const server = await startReceiverServer(status(200));
      const urls = [new Secret(`${server.origin}${path}`)];
      const { receiver } = openAlertmanager(store.told, [server], { urls });
      await commit(firing("a"));
      await receiver.send(telling("a"), never);
      const below = path.replace(/\/+$/, "");
      expect(server.requests.map((each) => each.path)).toEqual([`${below}/api/v2/alerts`]);
    },
  );

  it("ends when its incident was resolved, with the same labels", async () => {
    const { store, commit } = await openToldStore();
    const server = await startReceiverServer(status(200));
    const { receiver, clock } = openAlertmanager(store.told, [server]);
    await commit(firing("a"));
    await receiver.send(telling("a"), never);
    clock.advance(minuteMs);
    await commit(resolved("a", startMs + 30_000));
    await receiver.send(telling("a"), never);
    const [[fired], [over]] = [posted(server)[0] ?? [], posted(server)[1] ?? []];
    expect(over?.labels).toEqual(fired?.labels);
    expect(over).toMatchObject({
      endsAt: "2026-11-20T09:30:30.000Z",
      annotations: { resolved_reason: "recovered", summary: expect.stringContaining("no longer") },
    });
  });

  it("is of a target, a pool or a receiver too", async () => {
    const { store, commit } = await openToldStore();
    const server = await startReceiverServer(status(200));
    const { receiver } = openAlertmanager(store.told, [server]);
    const place = { region: "us", key: "research" };
    const common = (alertname: string, subject: string) => {
      return { alertname, severity: "critical", subject };
    };
    const pool = { kind: "pool", region: "us", key: null, serverName: "github" } as const;
    await commit(
      firing("a", { rule: "blind", subject: { kind: "target" }, status: null }),
      firing("b", { rule: "full", subject: pool, status: null }),
      firing("c", { rule: "deaf", subject: { kind: "receiver", receiver: "x" }, status: null }),
    );
    await receiver.send(telling("a", "b", "c"), never);
    const labels = new Map(posted(server)[0]?.map((each) => [each.labels["subject"], each.labels]));
    expect(Object.fromEntries(labels)).toEqual({
      pool: { ...common("full", "pool"), region: "us", server_name: "github" },
      receiver: { ...common("deaf", "receiver"), receiver: "x", ...place },
      target: { ...common("blind", "target"), ...place },
    });
  });

  it("has names as they may be sent, whatever the service says", async () => {
    const { store, commit } = await openToldStore();
    const server = await startReceiverServer(status(200));
    const { receiver } = openAlertmanager(store.told, [server]);
    const odd = { kind: "server", sandboxId: "s", serverId: "i", serverName: "\ud800x" } as const;
    const none = { kind: "server", sandboxId: "s", serverId: "j", serverName: "" } as const;
    await commit(firing("a", { subject: odd }), firing("b", { subject: none }));
    await receiver.send(telling("a", "b"), never);
    const names = posted(server)[0]?.map(({ labels }) => labels["server_name"]);
    expect(names?.toSorted()).toEqual(["\ufffdx", undefined]);
  });

  it("whose words are not kept any more is told of in the usual ones", async () => {
    const { store, commit, forgetItems } = await openToldStore({ condition: "in a bad way" });
    const server = await startReceiverServer(status(200));
    const { receiver } = openAlertmanager(store.told, [server]);
    await commit(firing("a"));
    await forgetItems();
    await receiver.send(telling("a"), never);
    expect(posted(server)[0]?.[0]?.annotations["summary"]).toContain("in error");
  });

  it("neither starts nor ends in the future when the wall clock was set back", async () => {
    const { store, commit } = await openToldStore();
    const server = await startReceiverServer(status(200));
    const { receiver, clock } = openAlertmanager(store.told, [server]);
    await commit(firing("a"), resolved("b", startMs + 1));
    clock.stepUtc(-60 * minuteMs);
    await receiver.send(telling("a", "b"), never);
    const times = posted(server)[0]?.map(({ startsAt, endsAt }) => [startsAt, endsAt]);
    expect(times?.toSorted()).toEqual([
      ["2026-11-20T08:30:00.000Z", "2026-11-20T08:30:00.000Z"],
      ["2026-11-20T08:30:00.000Z", "2026-11-20T08:35:00.000Z"],
    ]);
  });
});

describe("a notification", () => {
  it("makes only its own alerts be posted, as they stand now", async () => {
    const { store, commit } = await openToldStore();
    const server = await startReceiverServer(status(200));
    const { receiver, clock } = openAlertmanager(store.told, [server]);
    await commit(firing("a"), firing("b"), firing("c", { receivers: ["other"] }));
    clock.advance(minuteMs);
    await commit(resolved("b", startMs + minuteMs));
    await receiver.send(telling("b", "c"), never);
    expect(posted(server).map(ofServers)).toEqual([[["of-b", 1]]]);
  });

  it("of an end that is told late does not end the next incident of the same server", async () => {
    const { store, commit } = await openToldStore();
    const server = await startReceiverServer(status(200));
    const { receiver, clock } = openAlertmanager(store.told, [server]);
    const { subject } = firing("a");
    clock.advance(minuteMs);
    await commit(resolved("a", startMs + 1), firing("b", { subject, startedAtMs: startMs + 2 }));
    await receiver.send(telling("a"), never);
    expect(posted(server).map(ofServers)).toEqual([[["of-a", 6]]]);
    expect(posted(server)[0]?.[0]?.annotations["incident_id"]).toBe("b");
  });

  it("that counts more incidents than it names makes all alerts be posted", async () => {
    const { store, commit } = await openToldStore();
    const server = await startReceiverServer(status(200));
    const { receiver } = openAlertmanager(store.told, [server]);
    await commit(firing("a"), firing("b"));
    await receiver.send({ ...telling("a"), truncated: 1 }, never);
    expect(posted(server)[0]).toHaveLength(2);
  });

  it("is delivered when one instance took it, though another hangs", async () => {
    const { store, commit } = await openToldStore();
    const well = await startReceiverServer(status(200));
    const hanging = await startReceiverServer(hang);
    const { receiver } = openAlertmanager(store.told, [hanging, well]);
    await commit(firing("a"));
    expect(await receiver.send(telling("a"), never)).toEqual({ kind: "delivered" });
    expect(posted(well)).toHaveLength(1);
  });

  it.each([
    [[503, 503], "server_error"],
    [[400, 503], "server_error"],
    [[400, 400], "rejected"],
    [[307, 429], "rate_limited"],
  ])("fails when none took it: %j means %s", async (codes, reason) => {
    const { store, commit } = await openToldStore();
    const servers = await Promise.all(codes.map((code) => startReceiverServer(status(code))));
    const { receiver } = openAlertmanager(store.told, servers);
    await commit(firing("a"));
    expect(await receiver.send(telling("a"), never)).toMatchObject({ kind: "failed", reason });
  });

  it("is a test alert for all instances, and all must take it", async () => {
    const { store } = await openToldStore();
    const well = await startReceiverServer(status(200));
    const broken = await startReceiverServer(status(500));
    const { receiver } = openAlertmanager(store.told, [well, broken]);
    const test: Notification = { ...telling(), type: "test" };
    expect(await receiver.send(test, never)).toMatchObject({
      kind: "failed",
      detail: "Alertmanager 2: HTTP 500",
    });
    broken.answerWith(status(200));
    expect(await receiver.send(test, never)).toEqual({ kind: "delivered" });
    expect(posted(well)[0]?.[0]?.labels).toEqual({ alertname: "sandwatch-test", severity: "info" });
  });
});
