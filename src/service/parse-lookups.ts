import type { Deviations } from "./deviations.ts";
import { isObject, type JsonObject, type JsonValue } from "./json.ts";
import { readList, readObject, readText } from "./read-value.ts";
import { resource } from "./resource.ts";
import { universeSchema, universesSchema, userSchema, whiteLabelSchema } from "./schema.ts";

/** Times are text as the service wrote it; in all three, what is missing or odd is null. */
export interface User {
  readonly userId: string | null;
  readonly createdAt: string | null;
  readonly lastUsedAt: string | null;
}

export interface Universe {
  readonly universeId: string | null;
  readonly name: string | null;
  readonly description: string | null;
  readonly domain: string | null;
  readonly personas: readonly JsonObject[] | null;
  readonly taskNums: readonly string[] | null;
  readonly createdAt: string | null;
}

export interface WhiteLabel {
  /** Whether the operation succeeded. */
  readonly success: boolean | null;
  readonly data: JsonObject | null;
  /** Why it did not. */
  readonly message: string | null;
}

const promisedUser = resource(userSchema, "");
const promisedUniverses = resource(universesSchema, "");
const promisedUniverse = resource(universeSchema, "universes[].");
const promisedWhiteLabel = resource(whiteLabelSchema, "");

/** @returns undefined, like the two below it, for a body of another overall shape */
export function parseUser(body: JsonValue, deviations: Deviations): User | undefined {
  if (!isObject(body)) return undefined;
  promisedUser.compare(body, deviations);
  return {
    userId: readText(body["userId"]),
    createdAt: readText(body["createdAt"]),
    lastUsedAt: readText(body["lastUsedAt"]),
  };
}

export function parseUniverses(
  body: JsonValue,
  deviations: Deviations,
): readonly Universe[] | undefined {
  if (!isObject(body)) return undefined;
  promisedUniverses.compare(body, deviations);
  const universes = readList(body["universes"], "universes", deviations, (item) =>
    isObject(item) ? readUniverse(item, deviations) : null,
  );
  return universes ?? undefined;
}

function readUniverse(item: JsonObject, deviations: Deviations): Universe {
  promisedUniverse.compare(item, deviations);
  return {
    universeId: readText(item["universe_id"]),
    name: readText(item["name"]),
    description: readText(item["description"]),
    domain: readText(item["domain"]),
    personas: readList(item["personas"], "universes[].personas", deviations, readObject),
    taskNums: readList(item["task_nums"], "universes[].task_nums", deviations, (each) =>
      readText(each),
    ),
    createdAt: readText(item["created_at"]),
  };
}

export function parseWhiteLabel(body: JsonValue, deviations: Deviations): WhiteLabel | undefined {
  if (!isObject(body)) return undefined;
  promisedWhiteLabel.compare(body, deviations);
  const success = body["success"];
  return {
    success: typeof success === "boolean" ? success : null,
    data: readObject(body["data"]),
    message: readText(body["message"]),
  };
}
