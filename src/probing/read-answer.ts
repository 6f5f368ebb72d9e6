import type { Figures } from "../core/judge-probe.ts";
import type { Operation } from "../core/model.ts";
import { fieldAt } from "../core/probe-field.ts";
import type { ReadAnswer } from "../core/probe-expectation.ts";

/** What there is to judge and to show of the answer of an operation that is held as a whole. */
export function readAnswer(operation: Operation, content: unknown): ReadAnswer & Figures {
  const universes = operation === "list_universes" ? countUniverses(content) : null;
  const listed = operation === "list_sandboxes" ? countSandboxes(content) : universes;
  const lastUsedAt = operation === "get_user" ? fieldAt(content, ["lastUsedAt"]) : null;
  return { content, listed, universes, lastUsedAtMs: readTime(lastUsedAt) };
}

/** As the client takes them: what is no object is no universe. */
function countUniverses(content: unknown): number {
  return itemsAt(content, "universes").filter(
    (each) => typeof each === "object" && each !== null && !Array.isArray(each),
  ).length;
}

/** As polls take them: each once, and those that say what they are. */
function countSandboxes(content: unknown): number {
  const ids = itemsAt(content, "local_sandboxes")
    .filter((each) => Array.isArray(fieldAt(each, ["servers"])))
    .map((each) => fieldAt(each, ["local_sandbox_id"]))
    .filter((id) => typeof id === "string" && id !== "");
  return new Set(ids).size;
}

function itemsAt(content: unknown, field: string): readonly unknown[] {
  const items = fieldAt(content, [field]);
  return Array.isArray(items) ? items : [];
}

const zonedTime = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/;

/** UTC milliseconds. Without an offset nobody knows which moment is meant: then it is null. */
function readTime(text: unknown): number | null {
  if (typeof text !== "string" || !zonedTime.test(text)) return null;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? null : atMs;
}
