import { z } from "zod";
import { createDocument } from "zod-openapi";
import { operations } from "../fleet/model.ts";
import type { Operation } from "../fleet/model.ts";
import { promisedOperations } from "./operations.ts";
import type { PromisedOperation } from "./operations.ts";
import { validationSchema } from "./schemas.ts";

const description = `Read-only look-ups of sandboxes, users, universes and white-labeling. The \
interface document shows no status but the 200 of the listing of sandboxes; the others are those \
that the service's public material shows.`;

/**
 * The interface as an OpenAPI 3.1 document, made of the schemas that answers are held against.
 *
 * @param servers where it is in force. A URL may be relative to where the document was found
 */
export function describeInterface(servers: { url: string; description: string }[]) {
  return createDocument(
    {
      openapi: "3.1.0",
      info: {
        title: "Sandbox, User, Universe and White-Label Lookup Service",
        version: "0.1.0",
        description,
      },
      servers,
      security: [{ apiKey: [] }],
      paths: Object.fromEntries(
        operations.map((operation) => {
          const promised = promisedOperations[operation];
          return [promised.path, { get: describeOperation(operation, promised) }];
        }),
      ),
      components: {
        securitySchemes: {
          apiKey: { type: "http", scheme: "bearer", description: "An API key" },
        },
      },
    },
    { override: ({ jsonSchema }) => dropBounds(jsonSchema) },
  );
}

function describeOperation(
  operation: Operation,
  { parameter, summary, answer }: PromisedOperation,
) {
  const answerContent = { "application/json": { schema: answer } };
  const faultContent = { "application/json": { schema: validationSchema } };
  return {
    operationId: operation,
    summary,
    ...(parameter !== null && {
      requestParams: { path: z.object({ [parameter]: z.string() }) },
    }),
    responses: {
      "200": { description: "Success", content: answerContent },
      "400": { description: "The parameters were not correct" },
      "401": { description: "No credential" },
      "403": { description: "The credential is not valid" },
      ...(parameter !== null && {
        "404": { description: "There is nothing with this id" },
        "422": { description: "The input is not valid", content: faultContent },
      }),
      "429": { description: "Too many requests; Retry-After may say how long to wait" },
      "5XX": { description: "The service failed" },
    },
  };
}

/** What zod adds by itself or is for our own use, and the interface document does not promise. */
function dropBounds(jsonSchema: z.core.JSONSchema.BaseSchema): void {
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  if (jsonSchema.type === "integer") {
    delete jsonSchema.minimum;
    delete jsonSchema.maximum;
  }
  delete jsonSchema.pattern;
  delete jsonSchema.propertyNames;
  delete jsonSchema["shown"];
}
