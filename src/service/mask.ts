import type { Operation } from "../fleet/model.ts";
import type { Slices } from "../fleet/slices.ts";
import { runInSlices } from "../lib/iterables.ts";
import type { Secret } from "../lib/secret.ts";
import { fieldName, schemaNode, shapeOf, type SchemaNode } from "./deviations.ts";
import { isArray, isObject } from "./json.ts";
import type { JsonObject, JsonValue } from "./json-value.ts";
import { promisedOperations } from "./operations.ts";

const valuesPerSlice = 256;

/**
 * Shows of a response only what the interface's schemas mark as `shown`.
 *
 * @param apiKey the key of the call, which the response might repeat
 */
export function createMask(apiKey: Secret) {
  const key = apiKey.reveal();
  let values = 0;

  const text = (value: string): string =>
    (key === "" ? value : value.replaceAll(key, "[masked]")).replaceAll(addresses, maskAddress);

  function* maskValue(value: JsonValue, node: SchemaNode | undefined): Slices<JsonValue> {
    values += 1;
    if (values % valuesPerSlice === 0) yield;
    const { fields, items, shown } = node ?? {};
    if (value === null) return null;
    if (fields && isObject(value)) return yield* maskFields(value, fields);
    if (items && isArray(value)) return yield* maskItems(value, items);
    if (typeof value === "object" || shown === undefined) return maskWhole(value);
    if (typeof value !== "string") return shown === true ? value : maskWhole(value);
    return shown === true ? text(value) : maskAddress(value);
  }

  function* maskItems(list: readonly JsonValue[], node: SchemaNode): Slices<JsonValue[]> {
    const masked: JsonValue[] = [];
    for (const item of list) masked.push(yield* maskValue(item, node));
    return masked;
  }

  /** A name outside the interface may itself be data. Names that are then equal get a number. */
  function* maskFields(
    object: JsonObject,
    fields: NonNullable<SchemaNode["fields"]>,
  ): Slices<JsonObject> {
    const masked = new Map<string, JsonValue>();
    for (const [name, value] of Object.entries(object)) {
      const shown = fields.has(name) ? name : text(fieldName(name));
      const free = masked.has(shown) ? `${shown} (${masked.size})` : shown;
      masked.set(free, yield* maskValue(value, fields.get(name)));
    }
    return Object.fromEntries(masked);
  }

  return {
    /** Text of the service without the key, and with only scheme and host of addresses. */
    text,
    /** In slices, between which the event loop runs. */
    response: (operation: Operation, value: JsonValue): Promise<JsonValue> =>
      runInSlices(maskValue(value, schemaNode(promisedOperations[operation].answer))),
  };
}

function maskWhole(value: JsonValue): string {
  return `[masked: ${shapeOf(value)}]`;
}

/** Bounded: otherwise a long word would take quadratic time. */
const addresses = /[a-z][a-z\d+.-]{0,20}:\/\/[^\s"<>]*/gi;

/** Scheme and host. */
function maskAddress(address: string): string {
  const { protocol, host, href } = URL.parse(address) ?? { protocol: "", host: "", href: "" };
  if (host === "") return maskWhole(address);
  const shown = `${protocol}//${host}`;
  return href === shown || href === `${shown}/` ? shown : `${shown}/[masked]`;
}
