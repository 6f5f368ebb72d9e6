import { createDeviations } from "../service/deviations.ts";
import type { Deviation } from "../service/deviations.ts";
import { isArray, isObject, type JsonValue } from "../service/json.ts";

const sandboxesField = "local_sandboxes[].local_sandbox_id";
const serversField = "local_sandboxes[].servers[].id";

/** Whether the ids of a listing are unique, each server's within its sandbox, and the count is theirs. */
export function compareIdentities(listing: JsonValue): readonly Deviation[] {
  const deviations = createDeviations();
  const sandboxes = isObject(listing) ? listing["local_sandboxes"] : undefined;
  if (!isObject(listing) || !isArray(sandboxes)) return [];
  const noteTwins = (items: readonly JsonValue[], name: string, field: string): void => {
    const ids = items.map((item) => (isObject(item) ? item[name] : undefined));
    const texts = ids.filter((id) => typeof id === "string");
    const twins = texts.length - new Set(texts).size;
    if (twins > 0) deviations.note(field, "duplicate", undefined, twins);
  };
  noteTwins(sandboxes, "local_sandbox_id", sandboxesField);
  for (const sandbox of sandboxes) {
    const servers = isObject(sandbox) ? sandbox["servers"] : undefined;
    if (isArray(servers)) noteTwins(servers, "id", serversField);
  }
  const count = listing["total_count"];
  if (Number.isInteger(count) && count !== sandboxes.length) {
    deviations.note("total_count", "mismatch");
  }
  return deviations.list();
}
