import { z } from "zod";
import { createDocument } from "zod-openapi";
import type { ZodOpenApiOperationObject, ZodOpenApiResponsesObject } from "zod-openapi";
import * as fleetViews from "../interventions/fleet-views.ts";
import { eventsQuery } from "../interventions/history-requests.ts";
import * as historyViews from "../interventions/history-views.ts";
import * as views from "../interventions/views.ts";
import { version } from "../platform/version.ts";
import type { ApiOperation } from "./operation.ts";
import { apiOperations } from "./operations.ts";
import { statusText } from "../platform/status-text.ts";

export const apiPrefix = "/api/v1";
export const documentPath = "/api/openapi.json";

/** As RFC 9457 has it. */
const problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string().describe("What is wrong, and what to do"),
  errors: z
    .array(z.object({ path: z.string(), allowed: z.string() }))
    .exactOptional()
    .describe("Which parts of the request are wrong"),
});

/** What the desks are asked, checked with and answer, as an OpenAPI 3.1 document. */
export function describeApi(): ReturnType<typeof createDocument> {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {
    [documentPath]: { get: describeDocument() },
    [`${apiPrefix}/events`]: { get: describeEvents() },
  };
  for (const operation of apiOperations) {
    const path = `${apiPrefix}${operation.path}`;
    paths[path] = {
      ...paths[path],
      [operation.method.toLowerCase()]: describeOperation(operation),
    };
  }
  const document = createDocument(
    {
      openapi: "3.1.1",
      info: {
        title: "sandwatch",
        version,
        description: "What sandwatch watches, keeps and tells of. Times are in UTC.",
      },
      // Relative to the document, wherever a proxy serves that.
      servers: [{ url: ".." }],
      paths,
      components: {
        schemas: {
          Problem: problem,
          Target: fleetViews.targetView,
          Server: fleetViews.serverView,
          Change: historyViews.changeView,
          Incident: views.incidentView,
          Silence: views.silenceView,
          Notification: views.notificationView,
        },
      },
    },
    {
      // Whatever JSON the service gave.
      allowEmptySchema: { custom: true },
      // It would say that clients may not send what they only ever receive.
      override: ({ jsonSchema }) => {
        delete jsonSchema.readOnly;
      },
    },
  );
  return document;
}

function describeOperation(operation: ApiOperation): ZodOpenApiOperationObject {
  const { name, summary, id, query, body, answer, status, method } = operation;
  const codes = [400, 403, ...operation.refusals, ...(method === "POST" ? [413, 415] : []), 500];
  return {
    operationId: name,
    summary,
    requestParams: {
      ...(id && { path: z.object({ id }) }),
      ...(query && { query: withLists(query) }),
    },
    ...(body && {
      requestBody: { required: true, content: { "application/json": { schema: body } } },
    }),
    responses: {
      [status]: { description: summary, content: { "application/json": { schema: answer } } },
      ...(method === "GET" && !operation.isCostly && notModified),
      ...Object.fromEntries(codes.map((code) => [code, describeProblem(code)])),
    },
  };
}

/** Lists are written with commas between what is in them. */
function withLists(query: z.ZodObject): z.ZodObject {
  const fields = Object.entries(query.shape).map(([name, field]) => {
    const isList = z.toJSONSchema(field, { io: "input" }).type === "array";
    return [
      name,
      isList ? field.meta({ ...field.meta(), param: { style: "form", explode: false } }) : field,
    ] as const;
  });
  return z.strictObject(Object.fromEntries(fields));
}

const notModified: ZodOpenApiResponsesObject = {
  304: { description: "What If-None-Match names is still what there is" },
};

function describeProblem(code: number) {
  return {
    description: statusText(code),
    content: { "application/problem+json": { schema: problem } },
  };
}

function describeDocument(): ZodOpenApiOperationObject {
  return {
    operationId: "describeApi",
    summary: "This document",
    responses: {
      200: {
        description: "An OpenAPI document",
        content: { "application/json": { schema: z.looseObject({ openapi: z.string() }) } },
      },
      ...notModified,
      403: describeProblem(403),
    },
  };
}

function describeEvents(): ZodOpenApiOperationObject {
  return {
    operationId: "followEvents",
    summary: "Changes and incidents as they come",
    description:
      "Server-sent events: `change` and `incident`, each with a Change or an Incident as its data.",
    requestParams: {
      query: withLists(eventsQuery),
      header: z.object({
        "Last-Event-ID": z
          .string()
          .exactOptional()
          .describe("The id of an event: after it, whatever `after` says"),
      }),
    },
    responses: {
      200: {
        description: "A stream that goes on until either side ends it",
        content: { "text/event-stream": { schema: z.string() } },
      },
      400: describeProblem(400),
      403: describeProblem(403),
      500: describeProblem(500),
      503: describeProblem(503),
    },
  };
}
