import { z } from "zod";
import type { Operation } from "../fleet/model.ts";
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

/** @param apiKey the key of the call, which the response might repeat */
export function createMask(apiKey: Secret) {
  const key = apiKey.reveal();

  const text = (value: string): string =>
    (key === "" ? value : value.replaceAll(key, "[masked]")).replaceAll(addresses, maskAddress);

  const maskValue = (value: JsonValue, shown: Shown): JsonValue => {
    if (value === null) return null;
    if (shown === "address" && typeof value === "string") return maskAddress(value);
    if (shown === true && typeof value === "string") return text(value);
    if (shown === true && typeof value !== "object") return value;
    if (typeof shown !== "object" || shown === null) return maskWhole(value);
    if ("fields" in shown) {
      return isObject(value) ? maskFields(value, shown.fields) : maskWhole(value);
    }
    return isArray(value) ? value.map((item) => maskValue(item, shown.items)) : maskWhole(value);
  };

  /** A name outside the interface may itself be data. Names that are then equal get a number. */
  const maskFields = (object: JsonObject, fields: ReadonlyMap<string, Shown>): JsonObject => {
    const masked = new Map<string, JsonValue>();
    for (const [name, value] of Object.entries(object)) {
      const shown = fields.has(name) ? name : text(fieldName(name));
      const free = masked.has(shown) ? `${shown} (${masked.size})` : shown;
      masked.set(free, maskValue(value, fields.get(name) ?? null));
    }
    return Object.fromEntries(masked);
  };

  return {
    /** Text of the service without the key, and with only scheme and host of addresses. */
    text,
    response: (operation: Operation, value: JsonValue): JsonValue =>
      maskValue(value, shownOf(promisedOperations[operation].answer)),
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
