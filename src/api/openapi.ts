import { z } from "zod";
import { createDocument } from "zod-openapi";
import type { ZodOpenApiOperationObject, ZodOpenApiResponsesObject } from "zod-openapi";
import { statusText } from "../lib/http-status.ts";
import { version } from "../lib/version.ts";
import { documentPath, eventsPath, operationsRoot, pathFields } from "./operation.ts";
import type { Operation } from "./operation.ts";
import { apiOperations } from "./operations.ts";
import { changeView } from "./operations/changes.ts";
import { eventsQuery } from "./operations/events.ts";
import { incidentView } from "./operations/incidents.ts";
import { notificationView } from "./operations/notifications.ts";
import { sandboxView } from "./operations/sandboxes.ts";
import { silenceView } from "./operations/silences.ts";
import { serverView, targetView } from "./operations/targets.ts";

/** As in RFC 9457. */
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

let document: ReturnType<typeof createDocument> | undefined;

/** The API as an OpenAPI 3.1 document. */
export function describeApi(): ReturnType<typeof createDocument> {
  return (document ??= makeDocument());
}

function makeDocument(): ReturnType<typeof createDocument> {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {
    [documentPath]: { get: ownDescription },
    [eventsPath]: { get: eventsDescription },
  };
  for (const operation of apiOperations) {
    const path = operationsRoot + operation.path;
    const method = operation.method.toLowerCase();
    paths[path] = { ...paths[path], [method]: describeOperation(operation) };
  }
  return createDocument(
    {
      openapi: "3.1.1",
      info: {
        title: "sandwatch",
        version,
        description: "What sandwatch observes, stores and notifies. Times are in UTC.",
      },
      // Relative to the document, wherever a proxy serves it.
      servers: [{ url: ".." }],
      paths,
      components: {
        schemas: {
          Problem: problem,
          Target: targetView,
          Sandbox: sandboxView,
          Server: serverView,
          Change: changeView,
          Incident: incidentView,
          Silence: silenceView,
          Notification: notificationView,
        },
      },
    },
    {
      // Any JSON of the service.
      allowEmptySchema: { custom: true },
      // It would mean that clients must not send what they only receive.
      override: ({ jsonSchema }) => {
        delete jsonSchema.readOnly;
      },
    },
  );
}

function describeOperation(operation: Operation): ZodOpenApiOperationObject {
  const { name, summary, method, path, request, response, status = 200 } = operation;
  const { refusals = [] } = operation;
  const isGet = method === "GET";
  const inPath = pathFields(path);
  const fields = request instanceof z.ZodObject ? Object.entries(request.shape) : [];
  const pathSchema = objectOf(fields.filter(([field]) => inPath.includes(field)));
  const others = fields.filter(([field]) => !inPath.includes(field));
  const body = inPath.length > 0 ? objectOf(others) : request;
  return {
    operationId: name,
    summary,
    requestParams: {
      ...(inPath.length > 0 && { path: pathSchema }),
      ...(isGet && others.length > 0 && { query: querySchema(others) }),
    },
    ...(!isGet && { requestBody: { required: true, content: json(body) } }),
    responses: {
      [status]: { description: summary, content: json(response) },
      ...(isGet && notModified),
      ...problems(400, 401, 403, ...refusals, ...(isGet ? [] : [413, 415]), 429, 500, 503),
    },
  };
}

type Field = readonly [name: string, schema: z.ZodType];

function objectOf(fields: readonly Field[]): z.ZodObject {
  return z.strictObject(Object.fromEntries(fields));
}

/** In a query the items of a list are separated by commas. */
function querySchema(fields: readonly Field[]): z.ZodObject {
  return objectOf(
    fields.map(([name, field]): Field => {
      const isList = z.toJSONSchema(field, { io: "input" }).type === "array";
      const param = { style: "form", explode: false } as const;
      return [name, isList ? field.meta({ ...field.meta(), param }) : field];
    }),
  );
}

function json(schema: z.ZodType) {
  return { "application/json": { schema } };
}

function problems(...codes: readonly number[]): ZodOpenApiResponsesObject {
  const content = { "application/problem+json": { schema: problem } };
  return Object.fromEntries(
    codes.map((code) => [code, { description: statusText(code), content }] as const),
  );
}

const notModified: ZodOpenApiResponsesObject = {
  304: { description: "The response is still the one that If-None-Match names" },
};

const ownDescription: ZodOpenApiOperationObject = {
  operationId: "describeApi",
  summary: "This document",
  responses: {
    200: {
      description: "An OpenAPI document",
      content: json(z.looseObject({ openapi: z.string() })),
    },
    ...notModified,
    ...problems(403),
  },
};

const eventsDescription: ZodOpenApiOperationObject = {
  operationId: "followEvents",
  summary: "Changes and incidents as they are stored",
  description:
    "Server-sent events: `change` and `incident`, each with a Change or an Incident as its data; with `brief` only `news`, with an empty object.",
  requestParams: {
    query: querySchema(Object.entries(eventsQuery.shape)),
    header: z.object({
      "Last-Event-ID": z
        .string()
        .exactOptional()
        .describe("The id of an event. It takes precedence over `after`"),
    }),
  },
  responses: {
    200: {
      description: "A stream that continues until either side ends it",
      content: { "text/event-stream": { schema: z.string() } },
    },
    ...problems(400, 403, 500, 503),
  },
};
