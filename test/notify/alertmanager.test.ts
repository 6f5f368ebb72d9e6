import { describe, expect, it } from "vitest";
import { Secret } from "../../src/lib/secret.ts";
import { about, accept, minuteMs, ofServers } from "./support/alertmanager.ts";
import { openAlertmanager, posted } from "./support/alertmanager.ts";
import { startMs } from "./support/items.ts";
import { hang, status } from "./support/receiver-server.ts";
import { firing, resolved } from "./support/told-store.ts";

const never = new AbortController().signal;

describe("an alert", () => {
  it("is posted as the API accepts it, below the URL, with the incident's labels", async () => {
    const { receiver, clock, server, commitAs, acknowledge } = await openAlertmanager([accept], {
      bearerToken: new Secret("token"),
      generatorUrl: "https://sandwatch.example.com/",
    });
    const templates = {
      summaryTemplate: "{server_name} is broken",
      runbookUrlTemplate: "https://runbooks.example.com/{server_name}",
    };
    await commitAs(templates, firing("a"));
    await acknowledge("a", "kim");
    clock.advance(minuteMs);
    expect(await receiver.send(about("a"), never)).toEqual({ kind: "delivered" });

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

  it("ends when its incident was resolved, with the same labels", async () => {
    const { receiver, clock, server, commit } = await openAlertmanager();
    await commit(firing("a"));
    await receiver.send(about("a"), never);
    clock.advance(minuteMs);
    await commit(resolved("a", startMs + 30_000));
    await receiver.send(about("a"), never);
    const [started, ended] = posted(server).map(([alert]) => alert);
    expect(ended?.labels).toEqual(started?.labels);
    expect(ended).toMatchObject({
      endsAt: "2026-11-20T09:30:30.000Z",
      annotations: { resolved_reason: "recovered", summary: expect.stringContaining("no longer") },
    });
  });

  it("is of a target, a pool or a receiver, too", async () => {
    const { receiver, server, commit } = await openAlertmanager();
    const place = { region: "us", key: "research" };
    const common = (alertname: string, subject: string) => {
      return { alertname, severity: "critical", subject };
    };
    const pool = { kind: "pool", region: "us", key: null, serverName: "github" } as const;
    await commit(
      firing("a", { rule: "down", subject: { kind: "target" }, status: null }),
      firing("b", { rule: "full", subject: pool, status: null }),
      firing("c", { rule: "deaf", subject: { kind: "receiver", receiver: "x" }, status: null }),
    );
    await receiver.send(about("a", "b", "c"), never);
    const labels = new Map(posted(server)[0]?.map((each) => [each.labels["subject"], each.labels]));
    expect(Object.fromEntries(labels)).toEqual({
      pool: { ...common("full", "pool"), region: "us", server_name: "github" },
      receiver: { ...common("deaf", "receiver"), receiver: "x", ...place },
      target: { ...common("down", "target"), ...place },
    });
  });

  it("has names that can be sent, whatever the service says", async () => {
    const { receiver, server, commit } = await openAlertmanager();
    const odd = { kind: "server", sandboxId: "s", serverId: "i", serverName: "\ud800x" } as const;
    const none = { kind: "server", sandboxId: "s", serverId: "j", serverName: "" } as const;
    await commit(firing("a", { subject: odd }), firing("b", { subject: none }));
    await receiver.send(about("a", "b"), never);
    const names = posted(server)[0]?.map(({ labels }) => labels["server_name"]);
    expect(names?.toSorted()).toEqual(["\ufffdx", undefined]);
  });

  it("has the usual text when the text of its notifications is not kept any more", async () => {
    const { receiver, server, commitAs, forgetItems } = await openAlertmanager();
    await commitAs({ condition: "in a bad way" }, firing("a"));
    await forgetItems();
    await receiver.send(about("a"), never);
    expect(posted(server)[0]?.[0]?.annotations["summary"]).toContain("in error");
  });

  it("neither starts nor ends in the future when the wall clock was set back", async () => {
    const { receiver, clock, server, commit } = await openAlertmanager();
    await commit(firing("a"), resolved("b", startMs + 1));
    clock.stepUtc(-60 * minuteMs);
    await receiver.send(about("a", "b"), never);
    const times = posted(server)[0]?.map(({ startsAt, endsAt }) => [startsAt, endsAt]);
    expect(times?.toSorted()).toEqual([
      ["2026-11-20T08:30:00.000Z", "2026-11-20T08:30:00.000Z"],
      ["2026-11-20T08:30:00.000Z", "2026-11-20T08:35:00.000Z"],
    ]);
  });
});

describe("a notification", () => {
  it("posts only its own alerts, as they are now", async () => {
    const { receiver, clock, server, commit } = await openAlertmanager();
    await commit(firing("a"), firing("b"), firing("c", { receivers: ["other"] }));
    clock.advance(minuteMs);
    await commit(resolved("b", startMs + minuteMs));
    await receiver.send(about("b", "c"), never);
    expect(posted(server).map(ofServers)).toEqual([[["of-b", 1]]]);
  });

  it("that an incident resolved, sent late, does not end the next incident of that server", async () => {
    const { receiver, clock, server, commit } = await openAlertmanager();
    const { subject } = firing("a");
    clock.advance(minuteMs);
    await commit(resolved("a", startMs + 1), firing("b", { subject, startedAtMs: startMs + 2 }));
    await receiver.send(about("a"), never);
    expect(posted(server).map(ofServers)).toEqual([[["of-a", 6]]]);
    expect(posted(server)[0]?.[0]?.annotations["incident_id"]).toBe("b");
  });

  it("that counts more incidents than it names posts all alerts", async () => {
    const { receiver, server, commit } = await openAlertmanager();
    await commit(firing("a"), firing("b"));
    await receiver.send({ ...about("a"), truncated: 1 }, never);
    expect(posted(server)[0]).toHaveLength(2);
  });

  it("is delivered when one instance accepted it, although another hangs", async () => {
    const { receiver, servers, commit } = await openAlertmanager([hang, accept]);
    await commit(firing("a"));
    expect(await receiver.send(about("a"), never)).toEqual({ kind: "delivered" });
    expect(servers[1]?.requests).toHaveLength(1);
  });

  it.each([
    [[503, 503], "server_error"],
    [[400, 503], "server_error"],
    [[400, 400], "rejected"],
    [[307, 429], "rate_limited"],
  ])("fails when no instance accepted it: %j means %s", async (codes, reason) => {
    const { receiver, commit } = await openAlertmanager(codes.map((code) => status(code)));
    await commit(firing("a"));
    expect(await receiver.send(about("a"), never)).toMatchObject({ kind: "failed", reason });
  });

  it("for a test is an alert for all instances, and all must accept it", async () => {
    const { receiver, server, servers } = await openAlertmanager([accept, status(500)]);
    expect(await receiver.send({ ...about(), type: "test" }, never)).toMatchObject({
      kind: "failed",
      detail: "Alertmanager 2: HTTP 500",
    });
    servers[1]?.answerWith(accept);
    const result = await receiver.send({ ...about(), type: "test" }, never);
    expect(result).toEqual({ kind: "delivered" });
    expect(posted(server)[0]?.[0]?.labels).toEqual({
      alertname: "sandwatch-test",
      severity: "info",
    });
  });
});
