import { sandboxesPerSlice } from "./slices.ts";
import type { Slices } from "./slices.ts";
import type { Observation } from "./next-snapshot.ts";
import type { Sandbox, Server, Snapshot } from "./snapshot.ts";
import type { Presence } from "./model.ts";

/**
 * What differs between a snapshot and the next one, found by comparing references: what is the same object in both is
 * passed over.
 */
export interface Diff {
  /** Every sandbox that is another object, but for its servers: also one of which only `missing` differs. */
  readonly sandboxes: readonly SandboxDiff[];
  /** The sandboxes that appeared, changed status or are gone. */
  readonly sandboxChanges: readonly SandboxDiff[];
  /** Every server that is another object. */
  readonly servers: readonly ServerDiff[];
  /** The servers that appeared, changed status or are gone. */
  readonly changes: readonly ServerDiff[];
}

/** How a sandbox or a server differs. */
interface SubjectDiff<Subject> {
  readonly kind: DiffKind;
  readonly sandboxId: string;
  /** Null: it appeared. */
  readonly before: Subject | null;
  /** Null: it is gone. */
  readonly after: Subject | null;
  /** For how long a status that ended was observed, in whole milliseconds; null unless both moments are known. */
  readonly dwellMs: number | null;
}

export type SandboxDiff = SubjectDiff<Sandbox>;
export type ServerDiff = SubjectDiff<Server>;

/**
 * - `appeared`, `changed`, `gone`: a change
 * - `missing`: a complete listing lacked it for the first time
 * - `seen`: it is listed again, in the status that it had
 * - `still_missing`: one more complete listing lacked it
 * - `updated`: another attribute differs, such as a name, or whether it states its status itself
 */
export type DiffKind =
  | "appeared"
  | "changed"
  | "gone"
  | "missing"
  | "seen"
  | "still_missing"
  | "updated";

/** The diff of a poll without a listing. */
export const noDiff: Diff = { sandboxes: [], sandboxChanges: [], servers: [], changes: [] };

export function statusBefore({ before }: Pick<SandboxDiff | ServerDiff, "before">): Presence {
  return before?.status ?? "absent";
}

export function statusAfter({ after }: Pick<SandboxDiff | ServerDiff, "after">): Presence {
  return after?.status ?? "absent";
}

/** @param observation the one that gave the next snapshot */
export function* diffSnapshots(
  before: Snapshot,
  after: Snapshot,
  observation: Observation,
): Slices<Diff> {
  if (before.sandboxes === after.sandboxes) return noDiff;
  const sandboxes: SandboxDiff[] = [];
  const servers: ServerDiff[] = [];

  const add = (sandboxId: string, known: Server | null, server: Server | null): void => {
    const kind = kindOf(known, server);
    const dwellMs = dwellOf(kind, known, server, observation);
    servers.push({ kind, sandboxId, before: known, after: server, dwellMs });
  };

  const compare = (sandboxId: string, known: Sandbox | null, sandbox: Sandbox | null): void => {
    const isSame =
      known?.status === sandbox?.status &&
      known?.statedStatus === sandbox?.statedStatus &&
      known?.benchmark === sandbox?.benchmark &&
      known?.createdAt === sandbox?.createdAt &&
      known?.missing === sandbox?.missing;
    if (!known || !sandbox || !isSame) {
      const kind = kindOf(known, sandbox);
      const dwellMs = dwellOf(kind, known, sandbox, observation);
      sandboxes.push({ kind, sandboxId, before: known, after: sandbox, dwellMs });
    }
    const [had, has] = [known?.servers ?? [], sandbox?.servers ?? []];
    // Most are in the order that they had.
    let at = 0;
    for (; at < has.length && has[at]?.id === had[at]?.id; at++) {
      const [one, other] = [had[at], has[at]];
      if (one && other && one !== other) add(sandboxId, one, other);
    }
    const rest = new Map(had.slice(at).map((server) => [server.id, server]));
    for (const server of has.slice(at)) {
      const other = rest.get(server.id) ?? null;
      rest.delete(server.id);
      if (other !== server) add(sandboxId, other, server);
    }
    for (const server of rest.values()) add(sandboxId, server, null);
  };

  for (let at = 0; at < after.sandboxes.length; at++) {
    if (at % sandboxesPerSlice === sandboxesPerSlice - 1) yield;
    const sandbox = after.sandboxes[at];
    if (!sandbox || sandbox === before.sandboxes[at]) continue;
    const known = before.sandboxes[before.places.get(sandbox.id) ?? -1] ?? null;
    if (sandbox !== known) compare(sandbox.id, known, sandbox);
  }
  // If all sandboxes kept their places, none is gone.
  if (before.places !== after.places) {
    for (let at = 0; at < before.sandboxes.length; at++) {
      if (at % sandboxesPerSlice === sandboxesPerSlice - 1) yield;
      const sandbox = before.sandboxes[at];
      if (sandbox && !after.places.has(sandbox.id)) compare(sandbox.id, sandbox, null);
    }
  }
  return {
    sandboxes,
    sandboxChanges: sandboxes.filter(isChange),
    servers,
    changes: servers.filter(isChange),
  };
}

function isChange({ kind }: SandboxDiff | ServerDiff): boolean {
  return kind === "appeared" || kind === "changed" || kind === "gone";
}

type Observed = Pick<Server, "status" | "since" | "missing">;

function kindOf(before: Observed | null, after: Observed | null): DiffKind {
  if (!before) return "appeared";
  if (!after) return "gone";
  if (before.status !== after.status) return "changed";
  if (after.missing > 0) return before.missing === 0 ? "missing" : "still_missing";
  return before.missing > 0 ? "seen" : "updated";
}

function dwellOf(
  kind: DiffKind,
  before: Observed | null,
  after: Observed | null,
  { observedMs, momentKnown }: Observation,
): number | null {
  if (!before?.since.momentKnown) return null;
  const isEnd =
    kind === "changed"
      ? after?.since.momentKnown
      : kind === "gone" && before.missing === 0 && momentKnown;
  // Negative where the target's clock began again.
  const dwellMs = Math.round(observedMs - before.since.observedMs);
  return isEnd && dwellMs >= 0 ? dwellMs : null;
}
