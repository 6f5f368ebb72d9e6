import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { describeApi } from "../../src/api/openapi.ts";
import { pathFields } from "../../src/api/operation.ts";
import { apiOperations } from "../../src/api/operations.ts";
import { listChanges } from "../../src/api/operations/changes.ts";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { listNotifications } from "../../src/api/operations/notifications.ts";
import { listSandboxes } from "../../src/api/operations/sandboxes.ts";
import { addSilence, listSilences } from "../../src/api/operations/silences.ts";
import { share } from "../support/share.ts";
import { watchWorld } from "../support/watched-world.ts";
import { sound } from "./support/api-world.ts";

const contentSchema = z.record(z.string(), z.object({ schema: z.record(z.string(), z.any()) }));

const documentSchema = z.object({
  paths: z.record(
    z.string(),
    z.partialRecord(
      z.enum(["get", "post"]),
      z.object({
        operationId: z.string(),
        parameters: z.array(z.object({ name: z.string() })).optional(),
        responses: z.record(z.string(), z.object({ content: contentSchema.optional() })),
      }),
    ),
  ),
});

/** The operations of the document as it is published, with all that it refers to in place. */
async function published(text = JSON.stringify(describeApi())) {
  const validator = new Validator();
  expect(await validator.validate(JSON.parse(text))).toMatchObject({ valid: true });
  const { paths } = documentSchema.parse(validator.resolveRefs());
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  );
}

/** How an answer differs from what an operation says of it. */
async function differences(
  { responses }: Awaited<ReturnType<typeof published>>[number],
  answer: Response,
) {
  const [[type, { schema }] = ["none", { schema: {} }]] = Object.entries(
    responses[answer.status]?.content ?? {},
  );
  const { error } = z.fromJSONSchema(schema).safeParse(await answer.json());
  const isOfType = answer.headers.get("content-type")?.startsWith(type) === true;
  return [...(isOfType ? [] : [`not of the type ${type}`]), ...(error?.issues ?? [])];
}

const documented = share(() => published());

describe("the OpenAPI document", () => {
  const unchanged = share(() => watchWorld());

  it("is valid, and has each parameter that is checked, with lists separated by commas", async () => {
    const described = documented();
    for (const { name, path, method, request } of apiOperations) {
      const operation = described.find(({ operationId }) => operationId === name);
      const inPath = pathFields(path);
      const fields = request instanceof z.ZodObject ? Object.keys(request.shape) : [];
      const others = method === "GET" ? fields.filter((field) => !inPath.includes(field)) : [];
      const parameters = operation?.parameters?.map((parameter) => parameter.name) ?? [];
      expect([name, operation?.path, parameters]).toEqual([
        name,
        `/api/v1${path}`,
        [...inPath, ...others],
      ]);
    }
    const state = expect.objectContaining({ name: "state", style: "form", explode: false });
    const { parameters } = describeApi().paths?.["/api/v1/incidents"]?.get ?? {};
    expect(parameters).toEqual(expect.arrayContaining([state]));
  });

  it("describes what a daemon answers, for every operation", async () => {
    // With probes there is no limit to wait for, on a clock that stands still.
    const login = { name: "login", operation: "user", id: "user-1", every: "5s" };
    const weekly = { name: "weekly", schedule: "weekly", receivers: ["oncall"] };
    const world = await watchWorld({ probes: [login], reports: [weekly] });
    await world.poll();
    for (const index of world.serverIds.keys()) world.show(index, "error");
    await world.poll();
    const address = await world.address();
    const described = await published(await (await fetch(`${address}/api/openapi.json`)).text());
    const { api } = world.daemon();
    await api(addSilence, sound);
    const { silences } = await api(listSilences, {});
    const { incidents } = await api(listIncidents, {});
    const { sandboxes } = await api(listSandboxes, {});
    const { notifications } = await api(listNotifications, {});
    const { changes } = await api(listChanges, { limit: 1 });
    const [silence, incident, seq] = [silences[0]?.id, incidents[0]?.id, notifications[0]?.seq];
    const calls: Readonly<Record<string, readonly [path: string, body?: object, status?: number]>> =
      {
        describeApi: ["/api/openapi.json"],
        showStatus: ["/api/v1/status"],
        listTargets: ["/api/v1/targets?region=us"],
        pollTargets: ["/api/v1/targets/poll", { region: "none" }],
        listSandboxes: ["/api/v1/sandboxes?limit=2&status=error,idle"],
        searchSandboxes: ["/api/v1/sandboxes/search?q=a&status=error,unobserved&sort=created"],
        showSandbox: [
          `/api/v1/sandboxes/show?region=us&key=research&sandbox=${sandboxes[0]?.sandbox_id}`,
        ],
        showSandboxTimeline: ["/api/v1/sandboxes/timeline?region=us&key=research&sandbox=a"],
        listServers: ["/api/v1/servers?limit=2&status=error,idle"],
        searchServers: ["/api/v1/servers/search?q=a&status=error,unobserved&sort=since"],
        showTimeline: ["/api/v1/servers/timeline?region=us&key=research&sandbox=a&server=b"],
        listChanges: ["/api/v1/changes?limit=2"],
        reportOccupancy: ["/api/v1/occupancy?from=1h&by=region,server_name,hour"],
        reportOccupancySeries: ["/api/v1/occupancy/series?from=1h&server_name=git"],
        computeInsights: ["/api/v1/insights?from=1h"],
        computeOutlook: ["/api/v1/outlook?from=1h"],
        sendReport: ["/api/v1/reports/weekly/send", { dry_run: true }],
        listDrift: ["/api/v1/drift"],
        checkConformance: ["/api/v1/conformance", { user: "user-1" }],
        explainServer: [`/api/v1/explain?server=${world.serverIds[0]}`],
        explainSandbox: [`/api/v1/explain/sandbox?sandbox=${changes[0]?.sandbox_id}`],
        listIncidents: ["/api/v1/incidents?state=firing,resolved"],
        showIncident: [`/api/v1/incidents/${incident}`],
        acknowledgeIncident: [`/api/v1/incidents/${incident}/acknowledge`, { author: "ann" }],
        acknowledgeIncidents: ["/api/v1/incidents/acknowledge", { all: true, author: "ann" }],
        unacknowledgeIncident: [`/api/v1/incidents/${incident}/unacknowledge`, { author: "ann" }],
        unacknowledgeIncidents: ["/api/v1/incidents/unacknowledge", { all: true, author: "ann" }],
        showSilence: [`/api/v1/silences/${silence}`],
        changeSilence: [`/api/v1/silences/${silence}`, { author: "ann", duration: "1h" }],
        listSilences: ["/api/v1/silences?ended=true"],
        addSilence: ["/api/v1/silences", sound, 201],
        expireSilence: [`/api/v1/silences/${silence}/expire`, {}],
        listNotifications: ["/api/v1/notifications"],
        showNotification: [`/api/v1/notifications/${seq}`],
        replayNotifications: ["/api/v1/notifications/replay", { receiver: "oncall" }],
        discardNotifications: ["/api/v1/notifications/discard", { seqs: [1] }],
        listProbes: ["/api/v1/probes"],
        lookUp: ["/api/v1/lookups/user", { id: "user-1" }],
        forgetKey: ["/api/v1/history/forget", { key: "former" }],
      };
    for (const operation of described) {
      const { operationId } = operation;
      // Its response has no end.
      if (operationId === "followEvents") continue;
      const [path = operationId, body, status = 200] = calls[operationId] ?? [];
      const answer = await fetch(address + path, {
        method: operation.method.toUpperCase(),
        ...(body && {
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        }),
      });
      expect([operationId, answer.status]).toEqual([operationId, status]);
      expect([operationId, await differences(operation, answer)]).toEqual([operationId, []]);
    }
  });

  it.each([
    ["listServers", "GET", "/api/v1/servers?statsu=idle", 400],
    ["showSandbox", "GET", "/api/v1/sandboxes/show?region=us&key=research&sandbox=nothing", 404],
    ["explainSandbox", "GET", "/api/v1/explain/sandbox?sandbox=nothing", 404],
    ["explainServer", "GET", "/api/v1/explain?server=nothing", 404],
    ["showNotification", "GET", "/api/v1/notifications/7", 404],
    ["addSilence", "POST", "/api/v1/silences", 415],
  ])("describes a refusal of %s by %s %s", async (name, method, path, status) => {
    const operation = documented().find(({ operationId }) => operationId === name);
    if (!operation) throw new Error(`${name} is not described`);
    const answer = await fetch((await unchanged().address()) + path, { method });
    expect([answer.status, await differences(operation, answer)]).toEqual([status, []]);
  });
});
