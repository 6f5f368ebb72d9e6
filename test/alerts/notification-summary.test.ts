import { describe, expect, it } from "vitest";
import { composeMessages } from "../../src/alerts/compose-messages.ts";
import type {
  IncidentMessage,
  OutboxItem,
  NotifiedIncident,
} from "../../src/alerts/notification.ts";
import { summarize } from "../../src/alerts/notification-summary.ts";
import { outboxItem, startMs } from "../notify/support/items.ts";

type Told = readonly [type: IncidentMessage, summary: string];

const flapping = {
  condition: "flapping (in error 3 times in 10m)",
  incident: { flapping: true },
} as const;

describe("of pools", () => {
  const pool = (more: Partial<OutboxItem> = {}, incident: Partial<NotifiedIncident> = {}) =>
    outboxItem({
      rule: "pool-full",
      condition: "more than 90% occupied",
      ...more,
      incident: { subject: "pool", sandboxId: null, serverId: null, status: null, ...incident },
    });

  it.each<Told>([
    ["incident.firing", "servers named github in us (research) more than 90% occupied"],
    ["incident.reminder", "servers named github in us (research) still more than 90% occupied"],
    ["incident.resolved", "servers named github in us (research) no longer more than 90% occupied"],
  ])("%s", (type, summary) => {
    expect(summarize([pool({ type })])).toBe(summary);
  });

  it.each<[string, Partial<NotifiedIncident>]>([
    ["servers in us (research) more than 90% occupied", { serverName: null }],
    ["servers named github in us more than 90% occupied", { key: null }],
    ["servers named github in research more than 90% occupied", { region: null }],
    ["servers more than 90% occupied", { region: null, key: null, serverName: null }],
  ])("by fewer fields: %s", (summary, incident) => {
    expect(summarize([pool({}, incident)])).toBe(summary);
  });

  it("that are several counts them", () => {
    const other = pool({}, { id: "incident-2", serverName: "git" });
    expect(summarize([pool(), other])).toBe("2 pools in us (research) more than 90% occupied");
  });
});

describe("of receivers", () => {
  const receiver = (type: IncidentMessage, name = "desk") =>
    outboxItem({
      type,
      condition: "not accepting notifications",
      incident: {
        id: name,
        subject: "receiver",
        region: null,
        key: null,
        sandboxId: null,
        serverId: null,
        serverName: null,
        status: null,
        receiver: name,
      },
    });

  it.each<Told>([
    ["incident.firing", "receiver desk not accepting notifications"],
    ["incident.reminder", "receiver desk still not accepting notifications"],
    ["incident.resolved", "receiver desk accepting notifications again"],
  ])("%s", (type, summary) => {
    expect(summarize([receiver(type)])).toBe(summary);
  });

  it("that are several names them", () => {
    expect(summarize([receiver("incident.firing"), receiver("incident.firing", "chat")])).toBe(
      "receiver desk, chat not accepting notifications",
    );
  });
});

describe("of targets whose key is refused", () => {
  const refused = (type: IncidentMessage) =>
    outboxItem({
      type,
      condition: "refused by the service",
      incident: { subject: "target", sandboxId: null, serverId: null, serverName: null },
    });

  it.each<Told>([
    ["incident.firing", "us (research) refused by the service"],
    ["incident.reminder", "us (research) still refused by the service"],
    ["incident.resolved", "us (research) no longer refused by the service"],
  ])("%s", (type, summary) => {
    expect(summarize([refused(type)])).toBe(summary);
  });
});

describe("of a server without a name", () => {
  const nameless = (serverName: string | null, summaryTemplate: string | null) =>
    outboxItem({ summaryTemplate, incident: { serverId: "4f2a91c0-1", serverName } });

  it.each([null, "", " ", "\u0007\u200b"])("%j says the server's id", (name) => {
    expect(summarize([nameless(name, "{server_name}")])).toBe("4f2a91c0-1");
    expect(summarize([nameless(name, null)])).toBe(
      "1 server in error in us (research): 4f2a91c0-1",
    );
  });

  it.each([" ", "{probe}", "{probe} {probe}"])(
    "is the usual one where %j would be blank",
    (text) => {
      expect(summarize([nameless("github", text)])).toBe(
        "1 server in error in us (research): github",
      );
    },
  );
});

describe("of what people did", () => {
  it("says that a silence ended the alert, not the condition", () => {
    const incident = { resolvedReason: "silenced" } as const;
    expect(summarize([outboxItem({ type: "incident.resolved", incident })])).toBe(
      "alert ended for 1 server in error in us (research): github",
    );
  });

  it("names who acknowledged it, on one readable line", () => {
    const acknowledged = (acknowledgedBy: string, id = "incident-1") =>
      outboxItem({ type: "incident.acknowledged", incident: { id, acknowledgedBy } });
    expect(summarize([acknowledged("ada\n")])).toBe(
      "1 server in error in us (research): github - acknowledged by ada ",
    );
    expect(summarize([acknowledged("ada"), acknowledged("bob", "incident-2")])).toBe(
      "2 servers in error in us (research) - acknowledged by ada, bob",
    );
  });

  it("cuts a name without leaving half a character", () => {
    const incident = { acknowledgedBy: `${"x".repeat(59)}🏖🏖` };
    const summary = summarize([outboxItem({ type: "incident.acknowledged", incident })]);
    expect(summary).toMatch(/ by x{59}…$/);
  });
});

describe("of what flaps", () => {
  it("says how often, or for several only that they do", () => {
    expect(summarize([outboxItem(flapping)])).toBe(
      "1 server flapping (in error 3 times in 10m) in us (research): github",
    );
    const other = outboxItem({
      condition: "flapping (in error 4 times in 10m)",
      incident: { id: "incident-2", flapping: true },
    });
    expect(summarize([outboxItem(flapping), other])).toBe("2 servers flapping in us (research)");
  });
});

describe("by a rule's template", () => {
  const templated = (type: IncidentMessage, more: Parameters<typeof outboxItem>[0] = {}) =>
    outboxItem({ type, summaryTemplate: "{server_name} down in {region}", ...more });
  const silenced = { resolvedReason: "silenced" } as const;

  it.each<[string, OutboxItem]>([
    ["github down in us", templated("incident.firing")],
    ["Still: github down in us", templated("incident.reminder")],
    ["Resolved: github down in us", templated("incident.resolved")],
    ["Alert ended: github down in us", templated("incident.resolved", { incident: silenced })],
    [
      "acknowledged by ada: github down in us",
      templated("incident.acknowledged", { incident: { acknowledgedBy: "ada" } }),
    ],
    ["Flapping: github down in us", templated("incident.firing", flapping)],
    ["Flapping: github down in us", templated("incident.reminder", flapping)],
  ])("says %j", (summary, item) => {
    expect(summarize([item])).toBe(summary);
  });

  it("that says the condition itself does not say twice that it flaps", () => {
    const summaryTemplate = "{server_name} {condition}";
    expect(summarize([outboxItem({ ...flapping, summaryTemplate })])).toBe(
      "github flapping (in error 3 times in 10m)",
    );
  });

  it("stays one line that no receiver refuses for its length", () => {
    const summaryTemplate = `{server_name}\n${"x".repeat(2_000)}`;
    const summary = summarize([outboxItem({ summaryTemplate })]);
    expect(summary).toMatch(/^github x+…$/);
    expect(summary.length).toBeLessThanOrEqual(501);
  });

  it("comes with the runbook's address, filled; without one there is none", () => {
    const settings = {
      groupBy: ["rule"] as const,
      groupWaitMs: 0,
      groupIntervalMs: 0,
      mergeAbove: 100,
      maxIncidents: 1,
    };
    const addressOf = (runbookUrlTemplate: string | null) =>
      composeMessages([{ ...outboxItem({ runbookUrlTemplate }), seq: 1 }], settings, startMs)
        .messages[0]?.notification.runbookUrl;
    expect(addressOf("https://wiki/{rule}?s={server_name}")).toBe(
      "https://wiki/server-error?s=github",
    );
    expect(addressOf(null)).toBeNull();
  });
});

it("of nothing says nothing", () => {
  expect(summarize([])).toBe("");
});
