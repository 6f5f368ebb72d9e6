import { counted } from "../fleet/counted.ts";
import type { AnsweredView } from "../api/operations/lookups.ts";
import { isArray, isObject, type JsonObject, type JsonValue } from "../service/json.ts";
import { cutToWidth, printable, renderTable } from "./table.ts";
import type { Columns } from "./table.ts";

/**
 * A response of the service for a person. It may have any shape.
 *
 * @param width of a line. Default: unlimited
 */
export function answerText({ operation, answer }: AnsweredView, width?: number): string {
  const body = isObject(answer) ? answer : {};
  switch (operation) {
    case "universes":
      return universesText(objectsOf(body["universes"]), width);
    case "sandboxes":
      return sandboxesText(body, width);
    case "user":
    case "universe-data":
    case "white-label":
      return linesOf(answer)
        .map((line) => `${cutToWidth(line, width)}\n`)
        .join("");
  }
}

function universesText(universes: readonly JsonObject[], width: number | undefined): string {
  if (universes.length === 0) return "There are no universes.\n";
  const columns: Columns<JsonObject> = {
    universe: (universe) => cell(universe["universe_id"]),
    personas: (universe) => cell(universe["personas"]),
    name: (universe) => cell(universe["name"]),
    domain: (universe) => cell(universe["domain"]),
    created: (universe) => cell(universe["created_at"]),
    tasks: (universe) => cell(universe["task_nums"]),
    description: (universe) => cell(universe["description"]),
  };
  return renderTable(universes, columns, width);
}

/** A line for each server, and for each sandbox without any. */
function sandboxesText(body: JsonObject, width: number | undefined): string {
  const sandboxes = objectsOf(body["local_sandboxes"]);
  const rows = sandboxes.flatMap((sandbox) => {
    const servers = objectsOf(sandbox["servers"]);
    return (servers.length === 0 ? [{}] : servers).map((server) => ({ sandbox, server }));
  });
  const columns: Columns<{ readonly sandbox: JsonObject; readonly server: JsonObject }> = {
    status: ({ server }) => cell(server["status"]),
    name: ({ server }) => cell(server["server_name"]),
    server: ({ server }) => cell(server["id"]),
    sandbox: ({ sandbox }) => cell(sandbox["local_sandbox_id"]),
    "its status": ({ sandbox }) => cell(sandbox["status"]),
    created: ({ sandbox }) => cell(sandbox["created_at"]),
    updated: ({ server }) => cell(server["updated_at"]),
    benchmark: ({ sandbox, server }) => cell(server["benchmark"] ?? sandbox["benchmark"]),
    tags: ({ server }) => cell(server["tags"]),
    url: ({ server }) => cell(server["mcp_server_url"]),
    auth_data: ({ server }) => cell(server["auth_data"]),
    metadata: ({ server }) => cell(server["metadata"]),
  };
  const count = `${counted(sandboxes.length, "sandbox", "sandboxes")}, total_count: ${cell(body["total_count"])}`;
  return `${cutToWidth(count, width)}\n${renderTable(rows, columns, width)}`;
}

function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return isArray(value) ? value.filter(isObject) : [];
}

function cell(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "-";
  if (!isArray(value) || value.some(isObject)) return leafText(value);
  return value.length === 0 ? "-" : value.map(cell).join(", ");
}

/** Any JSON as lines for a person, as in YAML. */
function linesOf(value: JsonValue): readonly string[] {
  if (!hasParts(value)) return [leafText(value)];
  if (isArray(value)) {
    return value.flatMap((item) =>
      linesOf(item).map((line, index) => (index === 0 ? `- ${line}` : `  ${line}`)),
    );
  }
  return Object.entries(value).flatMap(([name, field]) => {
    const label = leafText(name);
    if (!hasParts(field)) return `${label}: ${leafText(field)}`;
    return [`${label}:`, ...linesOf(field).map((line) => `  ${line}`)];
  });
}

function hasParts(value: JsonValue): value is JsonObject | readonly JsonValue[] {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

/** A value in one line. Lists and objects are shown by their size. */
function leafText(value: JsonValue): string {
  if (typeof value === "string") return value === "" ? '""' : printable(value);
  if (isArray(value)) return value.length === 0 ? "[]" : `[${value.length} items]`;
  if (!isObject(value)) return String(value);
  const count = Object.keys(value).length;
  return count === 0 ? "{}" : `{${count} fields}`;
}
