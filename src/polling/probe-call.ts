import type { Figures, ProbeOutcome } from "../alerts/probe.ts";
import type { Operation } from "../fleet/model.ts";
import { fieldAt } from "../alerts/probe-expectation.ts";
import type { ReadAnswer } from "../alerts/probe-expectation.ts";
import type { Probe } from "../alerts/probe.ts";
import { emptySnapshot } from "../fleet/snapshot.ts";
import type { Call, ServiceClient } from "../service/client.ts";
import type { CallFailure } from "../service/failure.ts";

export interface Answered {
  readonly kind: "ok";
  readonly outcome: Extract<ProbeOutcome, { readonly kind: "read" }>;
}

/** Reading a larger answer at once would hold up everything else. Listings are read in slices. */
const maxBodyBytes = 8 * 2 ** 20;

/** Calls the operation of a probe once. */
export async function callProbe(
  service: Pick<ServiceClient, "listSandboxes" | "look">,
  {
    operation,
    id,
    expect,
  }: Pick<Probe, "operation" | "id"> & {
    readonly expect: Pick<Probe["expect"], "fields">;
  },
  call: Call,
): Promise<Answered | CallFailure> {
  // A listing is held as a whole only where fields of it are expected.
  if (operation === "list_sandboxes" && expect.fields.length === 0) {
    const result = await service.listSandboxes({ ...call, before: emptySnapshot, poll: 0 });
    if (result.kind === "failed") return result;
    const listed = result.value.listing.sandboxes.length;
    const figures = { universes: null, lastUsedAtMs: null };
    return { kind: "ok", outcome: { kind: "read", content: null, listed, ...figures } };
  }
  const lookup =
    operation === "list_sandboxes" || operation === "list_universes"
      ? { operation }
      : { operation, id: id ?? "" };
  const result = await service.look({ ...call, maxBodyBytes }, lookup);
  if (result.kind === "failed") return result;
  return { kind: "ok", outcome: { kind: "read", ...readAnswer(operation, result.value) } };
}

/** What rules judge and metrics show of an answer that is held as a whole. */
function readAnswer(operation: Operation, content: unknown): ReadAnswer & Figures {
  const universes = operation === "list_universes" ? countUniverses(content) : null;
  const listed = operation === "list_sandboxes" ? countSandboxes(content) : universes;
  const lastUsedAt = operation === "get_user" ? fieldAt(content, ["lastUsedAt"]) : null;
  return { content, listed, universes, lastUsedAtMs: readTime(lastUsedAt) };
}

/** What is no object is no universe, as for the client. */
function countUniverses(content: unknown): number {
  return itemsAt(content, "universes").filter(
    (each) => typeof each === "object" && each !== null && !Array.isArray(each),
  ).length;
}

/** Each once, without those that have no id or no servers, as polls count them. */
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

/** UTC milliseconds. A time without an offset could be any of several moments: null. */
function readTime(text: unknown): number | null {
  if (typeof text !== "string" || !zonedTime.test(text)) return null;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? null : atMs;
}
