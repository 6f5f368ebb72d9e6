import { describe, expect, it } from "vitest";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { addSilence } from "../../src/api/operations/silences.ts";
import { openConfiguredStore } from "../../src/store/store.ts";
import { postgresFolder, postgresSettings } from "../store/support/postgres.ts";
import { startListedService, type StatedSandbox } from "../support/listed-service.ts";
import { watchWorld, type WorldOptions } from "../support/watched-world.ts";

/** A sandbox and its servers as a listing states them; `-` stands for null, `.` for a field that is missing. */
type Stated = Readonly<Record<string, string>>;

interface Poll {
  readonly listed: Stated;
  /** What receivers are notified of, and in parentheses what happens without that. */
  readonly notified?: readonly string[];
  /** How many sandboxes the metrics show in which status. */
  readonly counted?: string;
}

const cases: readonly (readonly [title: string, polls: readonly Poll[]])[] = [
  [
    "a sandbox without servers fails and recovers",
    [
      { listed: { A: "idle" } },
      { listed: { A: "error" }, notified: ["firing: sandbox A"] },
      { listed: { A: "idle" }, notified: ["resolved: sandbox A recovered"] },
    ],
  ],
  [
    "a server that never states a status has that of its sandbox",
    [
      { listed: { A: "idle [-]" } },
      { listed: { A: "error [-]" }, notified: ["firing: server A/0", "(inhibited: sandbox A)"] },
      {
        listed: { A: "occupied [.]" },
        notified: ["resolved: server A/0 recovered", "(resolved: sandbox A)"],
      },
    ],
  ],
  [
    "a sandbox fails beside idle servers, and one of them fails meanwhile",
    [
      { listed: { A: "idle [idle idle]" } },
      { listed: { A: "error [idle idle]" }, notified: ["firing: sandbox A"] },
      { listed: { A: "error [idle error]" }, notified: ["firing: server A/1"] },
      { listed: { A: "error [idle idle]" }, notified: ["resolved: server A/1 recovered"] },
      { listed: { A: "occupied [idle idle]" }, notified: ["resolved: sandbox A recovered"] },
    ],
  ],
  [
    "a sandbox that fails with all its servers is one message about these",
    [
      { listed: { A: "idle [idle idle idle]" } },
      {
        listed: { A: "error [error error error]" },
        notified: ["firing: server A/0, server A/1, server A/2", "(inhibited: sandbox A)"],
      },
      {
        listed: { A: "idle [idle idle idle]" },
        notified: [
          "resolved: server A/0 recovered, server A/1 recovered, server A/2 recovered",
          "(resolved: sandbox A)",
        ],
      },
    ],
  ],
  [
    "a sandbox is still in error when its servers have recovered",
    [
      { listed: { A: "idle [idle]" } },
      {
        listed: { A: "error [error]" },
        notified: ["firing: server A/0", "(inhibited: sandbox A)"],
      },
      {
        listed: { A: "error [idle]" },
        notified: ["firing: sandbox A", "resolved: server A/0 recovered"],
      },
      { listed: { A: "idle [idle]" }, notified: ["resolved: sandbox A recovered"] },
    ],
  ],
  [
    "a status that goes missing resolves nothing",
    [
      { listed: { A: "idle [idle]" } },
      {
        listed: { A: "error [error]" },
        notified: ["firing: server A/0", "(inhibited: sandbox A)"],
      },
      { listed: { A: "- [.]" }, counted: "unknown 1" },
      { listed: { A: "idle [-]" }, notified: ["(resolved: sandbox A)"] },
      { listed: { A: "idle [idle]" }, notified: ["resolved: server A/0 recovered"] },
    ],
  ],
  [
    "a sandbox that never states a status counts as the worst of its servers, and has no incident",
    [
      { listed: { A: "- [idle occupied]" }, counted: "occupied 1" },
      { listed: { A: "- [idle error]" }, notified: ["firing: server A/1"], counted: "error 1" },
      {
        listed: { A: ". [idle idle]" },
        notified: ["resolved: server A/1 recovered"],
        counted: "idle 1",
      },
    ],
  ],
  [
    "a sandbox in error disappears",
    [
      { listed: { A: "error", B: "idle" }, notified: ["firing: sandbox A"] },
      { listed: { B: "idle" } },
      { listed: { B: "idle" }, notified: ["resolved: sandbox A gone"] },
      { listed: { B: "idle" } },
    ],
  ],
];

type OpenStore = NonNullable<WorldOptions["openStore"]>;

let schemas = 0;
const openOnPostgres: OpenStore = (path, observers) => {
  const schema = `sandboxes_${process.pid}_${(schemas += 1)}`;
  const postgres = postgresSettings(postgresFolder ?? "", schema);
  return openConfiguredStore({ path, postgres }, undefined, observers);
};
const engines: readonly { readonly name: string; readonly openStore?: OpenStore }[] = [
  { name: "SQLite" },
  ...(postgresFolder === undefined ? [] : [{ name: "PostgreSQL", openStore: openOnPostgres }]),
];

describe.each(engines)("with a store on $name", ({ openStore }) => {
  it.each(cases)("%s", async (_, polls) => {
    const service = await startListedService({});
    const options = { baseUrl: service.baseUrl, poll: { every: "5s", gone_after: 2 }, servers: 0 };
    const world = await watchWorld({ ...options, ...(openStore && { openStore }) });
    for (const [index, { listed: next, notified = [], counted }] of polls.entries()) {
      const [alerts, lines] = [world.alerts.length, world.log.length];
      service.list(sandboxesOf(next));
      await world.poll();
      const sent = world.alerts.slice(alerts);
      const ids = new Set(sent.flatMap(({ data }) => data.incidents.map(({ id }) => id)));
      const unnoticed = world.log.slice(lines).flatMap(({ event, incident_id: id, ...line }) => {
        const step = String(event).replace("incident.", "");
        if (ids.has(String(id)) || !["inhibited", "resolved"].includes(step)) return [];
        return `(${step}: sandbox ${String(line["sandbox_id"])})`;
      });
      const found = [...sent.map(messageText).toSorted(), ...unnoticed];
      expect(found, `poll ${index + 1}`).toEqual(notified);
      const [status, count] = counted?.split(" ") ?? [];
      const sample = `sandbox_sandboxes{region="us",key="research",status="${status}"} ${count}`;
      const samples = (await world.metrics()).split("\n");
      expect(samples.includes(sample)).toBe(counted !== undefined);
    }
    expect(world.peer.refused).toEqual([]);
  });
});

it("what is inhibited is so after a restart, and its silence is about the sandbox alone", async () => {
  const first = { A: "error [error]", B: "error" };
  const service = await startListedService(sandboxesOf(first));
  const world = await watchWorld({ baseUrl: service.baseUrl, servers: 0 });
  await world.poll();
  await world.restart();
  await world.poll(2);
  expect(world.alerts.map(messageText)).toEqual(["firing: server A/0", "firing: sandbox B"]);
  const [{ data } = { data: { incidents: [] } }] = world.alerts.slice(1);
  expect(data.incidents).toMatchObject([
    {
      subject: "sandbox",
      sandbox_id: "B",
      benchmark: "MCP_Atlas",
      server_id: null,
      server_name: null,
      status: "error",
    },
  ]);
  expect(world.alerts.map(({ data: { summary } }) => summary)).toEqual([
    "1 github server in error in us/research since 09:30 UTC",
    "sandbox B in error in us/research since 09:30 UTC; 2 of 2 sandboxes in error",
  ]);
  service.list(sandboxesOf({ A: "error [idle]", B: "error" }));
  await world.poll();
  const later = world.alerts.slice(2);
  expect(later.map(messageText).toSorted()).toEqual([
    "firing: sandbox A",
    "resolved: server A/0 recovered",
  ]);
  expect(later.map((alert) => alert.data.summary)).toContain(
    "sandbox A in error in us/research since 09:30 UTC (1 server: github); 2 of 2 sandboxes in error",
  );
  const { api } = world.daemon();
  const { incidents } = await api(listIncidents, { state: "firing" });
  const ofB = incidents.find(({ sandbox_id: id }) => id === "B")?.id ?? "";
  const about = { author: "ann", reason: "being moved", duration: "2h" };
  expect(await api(addSilence, { ...about, incident: ofB })).toMatchObject({
    match: { rule: ["sandbox-error"], sandbox_id: ["B"] },
    matched: 1,
    notes: [],
  });
  expect(await api(addSilence, { ...about, match: { sandbox_id: "A" } })).toMatchObject({
    matched: 1,
  });
});

function messageText({ type, data }: Awaited<ReturnType<typeof watchWorld>>["alerts"][number]) {
  const subjects = data.incidents.map((incident) => {
    const { subject, sandbox_id: sandbox, server_id: server, resolved_reason: reason } = incident;
    return `${subject} ${server ?? sandbox}${reason === null ? "" : ` ${reason}`}`;
  });
  return `${type.replace("incident.", "")}: ${subjects.toSorted().join(", ")}`;
}

function sandboxesOf(listed: Stated): Readonly<Record<string, StatedSandbox>> {
  return Object.fromEntries(
    Object.entries(listed).map(([id, text]) => {
      const words = text.match(/[^\s[\]]+/g) ?? [];
      const [status = null, ...servers] = words.map((word) =>
        word === "-" ? null : word === "." ? "absent" : word,
      );
      return [id, [status, servers, "MCP_Atlas"]];
    }),
  );
}
