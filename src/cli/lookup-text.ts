import { counted } from "../fleet/counted.ts";
import type { AnsweredView } from "../api/operations/lookups.ts";
import { isArray, isObject, type JsonObject, type JsonValue } from "../service/json.ts";
import { renderTable } from "./table.ts";
import { cutToWidth } from "./text-width.ts";
import { leafText, renderTree } from "./tree.ts";

/**
 * A response of the service for a person. It may have any shape.
 *
 * @param columns the width of a line. Default: unlimited
 */
export function answerText({ operation, answer }: AnsweredView, columns?: number): string {
  const body = isObject(answer) ? answer : {};
  switch (operation) {
    case "universes":
      return universesText(objectsOf(body["universes"]), columns);
    case "sandboxes":
      return sandboxesText(body, columns);
    case "user":
    case "universe-data":
    case "white-label":
      return renderTree(answer, { columns });
  }
}

function universesText(universes: readonly JsonObject[], columns: number | undefined): string {
  if (universes.length === 0) return "There are no universes.\n";
  return renderTable(
    ["universe", "personas", "name", "domain", "created", "tasks", "description"],
    universes.map((universe) => [
      cell(universe["universe_id"]),
      countCell(universe["personas"]),
      cell(universe["name"]),
      cell(universe["domain"]),
      cell(universe["created_at"]),
      listCell(universe["task_nums"]),
      cell(universe["description"]),
    ]),
    columns,
  );
}

/** Each sandbox with its servers below it, all in the same columns. */
function sandboxesText(body: JsonObject, columns: number | undefined): string {
  const sandboxes = objectsOf(body["local_sandboxes"]);
  const groups = sandboxes.map((sandbox) => ({ sandbox, servers: objectsOf(sandbox["servers"]) }));
  const servers = groups.flatMap((group) => group.servers);
  const [header = "", ...rows] = renderTable(
    ["  status", "name", "server", "updated", "benchmark", "tags", "url"],
    servers.map(serverCells),
    columns,
  ).split("\n");
  let row = 0;
  let text = `${cutToWidth(countLine(body, sandboxes.length, servers.length), columns)}\n`;
  if (servers.length > 0) text += `${header}\n`;
  for (const group of groups) {
    text += `${cutToWidth(sandboxLine(group.sandbox), columns)}\n`;
    for (const server of group.servers) {
      text += `${rows[row++]}\n${furtherText(server, columns)}`;
    }
  }
  return text;
}

function countLine(body: JsonObject, sandboxes: number, servers: number): string {
  const said = body["total_count"];
  const total = said === sandboxes ? "" : ` (total_count: ${cell(said)})`;
  return `${counted(sandboxes, "sandbox", "sandboxes")}, ${counted(servers, "server")}${total}`;
}

function sandboxLine(sandbox: JsonObject): string {
  const [id, status, created] = ["local_sandbox_id", "status", "created_at"].map((field) =>
    cell(sandbox[field]),
  );
  const benchmark = sandbox["benchmark"];
  const of = isNothing(benchmark) ? "" : `, benchmark ${cell(benchmark)}`;
  return `sandbox ${id}: ${status}${of}, created ${created}`;
}

function serverCells(server: JsonObject): readonly string[] {
  return [
    `  ${cell(server["status"])}`,
    cell(server["server_name"]),
    cell(server["id"]),
    cell(server["updated_at"]),
    cell(server["benchmark"]),
    listCell(server["tags"]),
    cell(server["mcp_server_url"]),
  ];
}

/** Free-form fields, which most servers do not have. */
function furtherText(server: JsonObject, columns: number | undefined): string {
  const further = ["metadata", "auth_data"].flatMap((field) => {
    const value = server[field];
    return isNothing(value) ? [] : [[field, value] as const];
  });
  if (further.length === 0) return "";
  return renderTree(Object.fromEntries(further), { columns, indent: 6 });
}

function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return isArray(value) ? value.filter(isObject) : [];
}

function isNothing(value: JsonValue | undefined): value is null | undefined {
  return value === null || value === undefined;
}

function cell(value: JsonValue | undefined): string {
  return isNothing(value) ? "-" : leafText(value);
}

function listCell(value: JsonValue | undefined): string {
  if (!isArray(value)) return cell(value);
  return value.length === 0 ? "-" : value.map(cell).join(", ");
}

function countCell(value: JsonValue | undefined): string {
  return isArray(value) ? String(value.length) : cell(value);
}
