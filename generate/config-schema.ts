import { z } from "zod";
import { configSchema as wholeSchema } from "../src/config/config.ts";
import { notBoth, oneOfSettings } from "../src/config/fields.ts";

/** A JSON Schema, a part of one, or what it is of. */
export type Json = Readonly<Record<string, unknown>>;

export function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function asJson(value: unknown): Json {
  return isJson(value) ? value : {};
}

const head = {
  $schema: "http://json-schema.org/draft-07/schema#",
  $comment: "Generated from src/config by `npm run generate`. Do not edit.",
  title: "Configuration of sandwatch",
};

/**
 * The configuration as JSON Schema, of the newest draft that YAML's language server knows. All that
 * sandwatch takes is valid by it, `${NAME}` included. Of what settings say of one another it knows
 * little.
 */
export function configSchema(): string {
  return `${JSON.stringify({ ...head, ...asJson(withoutNotes(describedSettings())) }, null, 2)}\n`;
}

/** The same with what documents add: `defaultText`, the default where it is not a value. */
export function describedSettings(): Json {
  return asJson(mend(rawSchema(wholeSchema)));
}

function rawSchema(schema: z.core.$ZodType): Json {
  const { $schema: _, ...raw } = z.toJSONSchema(schema, {
    io: "input",
    target: "draft-7",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      if (!(zodSchema instanceof z.ZodMap)) return;
      const additionalProperties = rawSchema(zodSchema.valueType);
      Object.assign(jsonSchema, { type: "object", additionalProperties });
    },
  });
  return raw;
}

function mend(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(mend);
  if (!isJson(node)) return node;
  const { readElsewhere, readOnly: _, ...rest } = node;
  const mended = mapEntries(rest, mend);
  const files = Array.isArray(readElsewhere) ? readElsewhere.map(String) : [];
  return byKind(files.reduce(withFile, mended));
}

/** A setting that may stand in a file of its own, which the schema of settings sees no more. */
function withFile(mapping: Json, fileSetting: string): Json {
  const setting = fileSetting.replace(/_file$/, "");
  const required = namesOf(mapping["required"]);
  const isNeeded = required.includes(setting);
  const defaultText = isNeeded ? { defaultText: `required without \`${fileSetting}\`` } : {};
  const properties = Object.entries(asJson(mapping["properties"])).flatMap(([name, each]) =>
    name === setting
      ? [[name, { ...asJson(each), ...defaultText }], fileEntry(fileSetting, setting)]
      : [[name, each]],
  );
  return {
    ...mapping,
    properties: Object.fromEntries(properties),
    required: required.filter((name) => name !== setting),
    allOf: [
      ...listOf(mapping["allOf"]),
      isNeeded ? oneOfSettings([setting, fileSetting]) : notBoth(setting, fileSetting),
    ],
  };
}

function fileEntry(fileSetting: string, setting: string): [string, Json] {
  const description = `The path of a file that holds only \`${setting}\`. A relative path is resolved against the configuration's folder.`;
  const defaultText = `none: \`${setting}\` applies`;
  return [
    fileSetting,
    { description, defaultText, type: "string", minLength: 1, errorMessage: "a path" },
  ];
}

/**
 * Mappings of several kinds, distinguished by one setting, which is checked first, so that faults
 * are those of that kind alone.
 */
function byKind(node: Json): Json {
  const { oneOf, ...rest } = node;
  const kinds = listOf(oneOf).map(asJson);
  const tag = kinds.map(tagOf).find((name) => name !== undefined);
  if (tag === undefined) return node;
  const values = kinds.map((kind) => asJson(asJson(kind["properties"])[tag])["const"]);
  const reference = { type: "string", pattern: "\\$\\{" };
  return {
    ...rest,
    type: "object",
    properties: {
      [tag]: { anyOf: [{ enum: values }, reference], errorMessage: values.join(", ") },
    },
    required: [tag],
    allOf: kinds.map((kind, index) =>
      ifThen({ properties: { [tag]: { const: values[index] } }, required: [tag] }, kind),
    ),
  };
}

/** By way of a map: as an object's own `then` it would look like a promise. */
function ifThen(condition: Json, schema: Json): Json {
  return Object.fromEntries(new Map([["if", condition]]).set("then", schema));
}

function tagOf(kind: Json): string | undefined {
  const entries = Object.entries(asJson(kind["properties"]));
  return entries.find(([, setting]) => asJson(setting)["const"] !== undefined)?.[0];
}

/** What a setting is for, and what holds without it, in the one text that editors show. */
function withoutNotes(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutNotes);
  if (!isJson(node)) return node;
  const { defaultText, ...rest } = mapEntries(node, withoutNotes);
  if (typeof defaultText !== "string") return rest;
  const note = defaultText.startsWith("required")
    ? `It is ${defaultText}.`
    : `Default: ${defaultText}.`;
  return { ...rest, description: `${String(rest["description"])} ${note}` };
}

function mapEntries(node: Json, map: (value: unknown) => unknown): Json {
  return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, map(value)]));
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function namesOf(value: unknown): readonly string[] {
  return listOf(value).map(String);
}
