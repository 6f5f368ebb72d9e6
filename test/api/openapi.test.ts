import { Validator } from "@seriousme/openapi-schema-validator";
import { fastify } from "fastify";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { listNotifications } from "../../src/api/operations/notifications.ts";
import { addSilence, listSilences } from "../../src/api/operations/silences.ts";
import { describeApi } from "../../src/api/openapi.ts";
import { pathFields } from "../../src/api/operation.ts";
import { apiOperations } from "../../src/api/operations.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { addApi } from "../../src/web/api/api.ts";
import { sound } from "./support/api-world.ts";
import { watchWorld } from "../support/watched-world.ts";

const documentSchema = z.object({
  paths: z.record(
    z.string(),
    z.partialRecord(
      z.enum(["get", "post"]),
      z.object({
        operationId: z.string(),
        parameters: z.array(z.object({ name: z.string() })).optional(),
        responses: z.record(
          z.string(),
          z.object({
            content: z
              .record(z.string(), z.object({ schema: z.record(z.string(), z.unknown()) }))
              .optional(),
          }),
        ),
      }),
    ),
  ),
});

/** As it is published, with all that it refers to in place. */
async function published(text = JSON.stringify(describeApi())) {
  const validator = new Validator();
  const result = await validator.validate(JSON.parse(text));
  expect(result).toMatchObject({ valid: true });
  return documentSchema.parse(validator.resolveRefs());
}

/** Whether something is as the document says of an answer. */
function isAsSaid(
  { paths }: Awaited<ReturnType<typeof published>>,
  [method, path, status]: readonly ["get" | "post", string, number],
  body: unknown,
) {
  const content = paths[path]?.[method]?.responses[String(status)]?.content ?? {};
  const [type = "", said] = Object.entries(content)[0] ?? [];
  if (!said) throw new Error(`nothing is said of ${method} ${path} answering ${status}`);
  return { type, result: z.fromJSONSchema(said.schema).safeParse(body) };
}

/** An operation asked for as `path`, with what it is sent. */
interface Call {
  readonly name: string;
  readonly path: string;
  readonly body?: object;
  readonly status?: number;
}

describe("the OpenAPI document", () => {
  it("is valid, and has each route that is served and no other", async () => {
    const { paths } = await published();
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const served: string[] = [];
    const server = fastify();
    server.addHook("onRoute", ({ method, url }) => {
      const path = url.replaceAll(/:(\w+)/g, "{$1}");
      for (const each of [method].flat()) if (each !== "HEAD") served.push(`${each} ${path}`);
    });
    addApi(server, {
      call: () => Promise.resolve({}),
      events: () => Promise.reject(new Error("not called")),
      allowedHosts: [],
      allowedMethods: () => [],
      clock: systemClock,
      onError: () => {},
    });
    await server.ready();
    expect(described.toSorted()).toEqual(served.toSorted());
    await server.close();
  });

  it("tells each parameter that is checked, lists among them as texts with commas", async () => {
    const { paths } = await published();
    for (const { path, method, request } of apiOperations) {
      const told = paths[`/api/v1${path}`]?.[method === "GET" ? "get" : "post"]?.parameters ?? [];
      const inPath = pathFields(path);
      const fields = request instanceof z.ZodObject ? Object.keys(request.shape) : [];
      const others = method === "GET" ? fields.filter((field) => !inPath.includes(field)) : [];
      expect([path, told.map(({ name }) => name)]).toEqual([path, [...inPath, ...others]]);
    }
    const { paths: raw } = describeApi();
    expect(raw?.["/api/v1/incidents"]?.get?.parameters).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: "state", style: "form", explode: false }),
      ]),
    );
  });

  it("says of every operation what a daemon answers", async () => {
    // With probes there is no limit to wait for, on a clock that stands still.
    const login = { name: "login", operation: "user", id: "user-1", every: "5s" };
    const world = await watchWorld({ probes: [login] });
    await world.poll();
    for (const index of world.serverIds.keys()) world.show(index, "error");
    await world.poll();
    const address = await world.address();
    const document = await published(await (await fetch(`${address}/api/openapi.json`)).text());
    const { api } = world.daemon();
    await api(addSilence, sound);
    const { silences } = await api(listSilences, {});
    const { incidents } = await api(listIncidents, {});
    const { notifications } = await api(listNotifications, {});
    const silence = silences[0]?.id ?? "";
    const calls: readonly Call[] = [
      { name: "describeApi", path: "/api/openapi.json" },
      { name: "listTargets", path: "/api/v1/targets?region=us" },
      { name: "listServers", path: "/api/v1/servers?limit=2&status=error,idle" },
      { name: "listChanges", path: "/api/v1/changes?limit=2" },
      { name: "reportOccupancy", path: "/api/v1/occupancy?from=1h&by=region,server_name,hour" },
      { name: "computeInsights", path: "/api/v1/insights?from=1h" },
      { name: "listDrift", path: "/api/v1/drift" },
      { name: "checkConformance", path: "/api/v1/conformance", body: { user: "user-1" } },
      { name: "explainServer", path: `/api/v1/explain?server=${world.serverIds[0] ?? ""}` },
      { name: "listIncidents", path: "/api/v1/incidents?state=firing,resolved" },
      {
        name: "acknowledgeIncident",
        path: `/api/v1/incidents/${incidents[0]?.id ?? ""}/acknowledge`,
        body: { author: "ann" },
      },
      { name: "listSilences", path: "/api/v1/silences?ended=true" },
      { name: "addSilence", path: "/api/v1/silences", body: sound, status: 201 },
      { name: "expireSilence", path: `/api/v1/silences/${silence}/expire`, body: {} },
      { name: "listNotifications", path: "/api/v1/notifications" },
      {
        name: "showNotification",
        path: `/api/v1/notifications/${notifications[0]?.seq ?? ""}`,
      },
      {
        name: "replayNotifications",
        path: "/api/v1/notifications/replay",
        body: { receiver: "oncall" },
      },
      { name: "discardNotifications", path: "/api/v1/notifications/discard", body: { seqs: [1] } },
      { name: "listProbes", path: "/api/v1/probes" },
      { name: "lookUp", path: "/api/v1/lookups/user?id=user-1" },
    ];
    // But what is followed: that answer has no end.
    const { "/api/v1/events": _, ...paths } = document.paths;
    const known = Object.entries(paths).flatMap(([path, methods]) =>
      (["get", "post"] as const).flatMap((method) => {
        const operation = methods[method];
        return operation ? [{ path, method, name: operation.operationId }] : [];
      }),
    );
    expect(calls.map(({ name }) => name).toSorted()).toEqual(
      known.map(({ name }) => name).toSorted(),
    );

    for (const { name, path, body, status = 200 } of calls) {
      const operation = known.find((each) => each.name === name);
      if (!operation) throw new Error(`${name} is not described`);
      const answer = await fetch(address + path, {
        ...(body && {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        }),
      });
      const content: unknown = await answer.json();
      expect([name, answer.status, content]).toEqual([name, status, content]);
      const said = isAsSaid(document, [operation.method, operation.path, status], content);
      expect([name, said.result.error]).toEqual([name, undefined]);
      expect(answer.headers.get("content-type")).toContain(said.type);
    }
  });

  it("says what a refusal is like", async () => {
    const world = await watchWorld();
    const address = await world.address();
    const document = await published();
    const answers = [
      ["get", "/api/v1/servers", "/api/v1/servers?statsu=idle", 400],
      ["get", "/api/v1/explain", "/api/v1/explain?server=nothing", 404],
      ["get", "/api/v1/notifications/{id}", "/api/v1/notifications/7", 404],
      ["post", "/api/v1/silences", "/api/v1/silences", 415],
    ] as const;
    for (const [method, path, asked, status] of answers) {
      const answer = await fetch(address + asked, { method: method.toUpperCase() });
      const { type, result } = isAsSaid(document, [method, path, status], await answer.json());
      expect([asked, answer.status, answer.headers.get("content-type"), result.error]).toEqual([
        asked,
        status,
        type,
        undefined,
      ]);
    }
  });
});
