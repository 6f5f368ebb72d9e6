import { z } from "zod";
import type { Operation } from "../fleet/model.ts";
import type { Slices } from "../fleet/slices.ts";
import { runInSlices } from "../lib/iterables.ts";
import type { Secret } from "../lib/secret.ts";
import { asType, fieldName, shapeOf, unwrap } from "./deviations.ts";
import { isArray, isObject, type JsonObject, type JsonValue } from "./json-value.ts";
import { promisedOperations } from "./operations.ts";

/** Shows of a response only what the interface's schemas mark as `shown`. */
export type Mask = ReturnType<typeof createMask>;

/** What is shown of a value. Null: its shape. */
type Shown =
  | true
  | "address"
  | { readonly fields: ReadonlyMap<string, Shown> }
  | { readonly items: Shown }
  | null;

const valuesPerSlice = 256;

/** @param apiKey the key of the call, which the response might repeat */
export function createMask(apiKey: Secret) {
  const key = apiKey.reveal();
  let values = 0;

  const text = (value: string): string =>
    (key === "" ? value : value.replaceAll(key, "[masked]")).replaceAll(addresses, maskAddress);

  function* maskValue(value: JsonValue, shown: Shown): Slices<JsonValue> {
    values += 1;
    if (values % valuesPerSlice === 0) yield;
    if (value === null) return null;
    if (shown === "address" && typeof value === "string") return maskAddress(value);
    if (shown === true && typeof value === "string") return text(value);
    if (shown === true && typeof value !== "object") return value;
    if (typeof shown !== "object" || shown === null) return maskWhole(value);
    if ("fields" in shown) {
      return isObject(value) ? yield* maskFields(value, shown.fields) : maskWhole(value);
    }
    if (!isArray(value)) return maskWhole(value);
    const items: JsonValue[] = [];
    for (const item of value) items.push(yield* maskValue(item, shown.items));
    return items;
  }

  /** A name outside the interface may itself be data. Names that are then equal get a number. */
  function* maskFields(object: JsonObject, fields: ReadonlyMap<string, Shown>): Slices<JsonValue> {
    const masked = new Map<string, JsonValue>();
    for (const [name, value] of Object.entries(object)) {
      const shown = fields.has(name) ? name : text(fieldName(name));
      const free = masked.has(shown) ? `${shown} (${masked.size})` : shown;
      masked.set(free, yield* maskValue(value, fields.get(name) ?? null));
    }
    return Object.fromEntries(masked);
  }

  return {
    /** Text of the service without the key, and with only scheme and host of addresses. */
    text,
    /** In slices, between which the event loop runs. */
    response: (operation: Operation, value: JsonValue): Promise<JsonValue> =>
      runInSlices(maskValue(value, shownOf(promisedOperations[operation].answer))),
  };
}

function shownOf(schema: z.ZodType): Shown {
  const bare = unwrap(schema);
  if (bare instanceof z.ZodObject) {
    const fields = Object.entries(bare.shape);
    return { fields: new Map(fields.map(([name, field]) => [name, shownOf(asType(field))])) };
  }
  const shown = schema.meta()?.shown ?? null;
  if (bare instanceof z.ZodArray) return { items: shown ?? shownOf(asType(bare.element)) };
  return shown;
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
