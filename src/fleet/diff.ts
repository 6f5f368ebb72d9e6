import { sandboxesPerSlice } from "./slices.ts";
import type { Slices } from "./slices.ts";
import type { Observation } from "./next-snapshot.ts";
import type { Sandbox, Server, Snapshot } from "./snapshot.ts";
import type { Presence } from "./status.ts";

/**
 * What differs between a snapshot and the next one, found by comparing references: what is the same object in both is
 * passed over, whatever is in it.
 */
export interface Diff {
  /** Every sandbox that is another object, but for its servers: also one of which only `missing` differs. */
  readonly sandboxes: readonly SandboxDiff[];
  /** Every server that is another object, in whatever way it differs. The changes and gaps are among them. */
  readonly servers: readonly ServerDiff[];
  /** The servers that appeared, changed status or are gone. */
  readonly changes: readonly ServerDiff[];
  /** The servers whose observation began or ended without a change of theirs: kinds `missing` and `seen`. */
  readonly gaps: readonly ServerDiff[];
}

export interface SandboxDiff {
  /** Null: it appeared. */
  readonly before: Sandbox | null;
  /** Null: it is gone. */
  readonly after: Sandbox | null;
}

export interface ServerDiff {
  readonly kind: ServerDiffKind;
  readonly sandboxId: string;
  /** Null: it appeared. */
  readonly before: Server | null;
  /** Null: it is gone. */
  readonly after: Server | null;
  /** For how long a status that ended was observed, in whole milliseconds; null unless both ends were witnessed. */
  readonly dwellMs: number | null;
  /**
   * Of one that appeared: the sandbox that lacks a server of this id and name since the same listing, where there is
   * just one such pair. Ids are promised to be unique within a sandbox only, so it is likely the same server, no more.
   */
  readonly movedFrom: string | null;
}

/**
 * - `appeared`, `changed`, `gone`: a change
 * - `missing`: a complete listing lacked it for the first time
 * - `seen`: it is listed again, in the status that it had
 * - `still_missing`: one more complete listing lacked it
 * - `updated`: name, benchmark or tags differ
 */
export type ServerDiffKind =
  | "appeared"
  | "changed"
  | "gone"
  | "missing"
  | "seen"
  | "still_missing"
  | "updated";

export function statusBefore({ before }: Pick<ServerDiff, "before">): Presence {
  return before?.status ?? "absent";
}

export function statusAfter({ after }: Pick<ServerDiff, "after">): Presence {
  return after?.status ?? "absent";
}

/** @param observation the one that gave the next snapshot */
export function* diffSnapshots(
  before: Snapshot,
  after: Snapshot,
  observation: Observation,
): Slices<Diff> {
  const run = new DiffRun(before, after, observation);
  if (before.sandboxes === after.sandboxes) return yield* run.finish();
  while (!run.compareSome()) yield;
  // Where each sandbox is where it was, none is gone.
  if (before.places !== after.places) while (!run.findSomeGone()) yield;
  return yield* run.finish();
}

const diffsPerSlice = 2_048;

class DiffRun {
  private readonly before: Snapshot;
  private readonly after: Snapshot;
  private readonly observation: Observation;
  private readonly sandboxes: SandboxDiff[] = [];
  private readonly servers: ServerDiff[] = [];
  private compared = 0;
  private looked = 0;

  constructor(before: Snapshot, after: Snapshot, observation: Observation) {
    this.before = before;
    this.after = after;
    this.observation = observation;
  }

  compareSome(): boolean {
    const { before, after } = this;
    const end = Math.min(after.sandboxes.length, this.compared + sandboxesPerSlice);
    for (; this.compared < end; this.compared++) {
      const sandbox = after.sandboxes[this.compared];
      if (!sandbox || sandbox === before.sandboxes[this.compared]) continue;
      const place = before.places.get(sandbox.id);
      const known = place === undefined ? undefined : before.sandboxes[place];
      if (sandbox !== known) this.compare(sandbox.id, known ?? null, sandbox);
    }
    return end === after.sandboxes.length;
  }

  findSomeGone(): boolean {
    const { before, after } = this;
    const end = Math.min(before.sandboxes.length, this.looked + sandboxesPerSlice);
    for (; this.looked < end; this.looked++) {
      const sandbox = before.sandboxes[this.looked];
      if (sandbox && !after.places.has(sandbox.id)) this.compare(sandbox.id, sandbox, null);
    }
    return end === before.sandboxes.length;
  }

  *finish(): Slices<Diff> {
    const left = this.servers.filter(
      ({ kind, before }) => kind === "missing" || (kind === "gone" && before?.missing === 0),
    );
    const appeared = this.servers.filter(({ kind }) => kind === "appeared");
    const servers = yield* withMoves(this.servers, left, appeared);
    return {
      sandboxes: this.sandboxes,
      servers,
      changes: servers.filter(isChange),
      gaps: servers.filter(({ kind }) => kind === "missing" || kind === "seen"),
    };
  }

  private compare(sandboxId: string, before: Sandbox | null, after: Sandbox | null): void {
    const isSame =
      before?.status === after?.status &&
      before?.benchmark === after?.benchmark &&
      before?.missing === after?.missing;
    if (!isSame) this.sandboxes.push({ before, after });
    const [had, has] = [before?.servers ?? [], after?.servers ?? []];
    // Most are in the order that they had.
    let at = 0;
    for (; at < has.length && has[at]?.id === had[at]?.id; at++) {
      const [known, server] = [had[at], has[at]];
      if (known && server && known !== server) this.add(sandboxId, known, server);
    }
    const left = new Map<string, Server>();
    for (let index = at; index < had.length; index++) {
      const server = had[index];
      if (server) left.set(server.id, server);
    }
    for (let index = at; index < has.length; index++) {
      const server = has[index];
      if (!server) continue;
      const known = left.get(server.id) ?? null;
      left.delete(server.id);
      if (known !== server) this.add(sandboxId, known, server);
    }
    for (const server of left.values()) this.add(sandboxId, server, null);
  }

  private add(sandboxId: string, before: Server | null, after: Server | null): void {
    const kind = kindOf(before, after);
    const dwellMs = this.dwellOf(kind, before, after);
    this.servers.push({ kind, sandboxId, before, after, dwellMs, movedFrom: null });
  }

  private dwellOf(kind: ServerDiffKind, before: Server | null, after: Server | null) {
    if (!before?.since.witnessed) return null;
    const { observedMs, witnessed } = this.observation;
    const isEnd =
      kind === "changed"
        ? after?.since.witnessed
        : kind === "gone" && before.missing === 0 && witnessed;
    // Negative where the target's clock began again, as its stored reading was damaged.
    const dwellMs = Math.round(observedMs - before.since.observedMs);
    return isEnd && dwellMs >= 0 ? dwellMs : null;
  }
}

function kindOf(before: Server | null, after: Server | null): ServerDiffKind {
  if (!before) return "appeared";
  if (!after) return "gone";
  if (before.status !== after.status) return "changed";
  if (after.missing > 0) return before.missing === 0 ? "missing" : "still_missing";
  return before.missing > 0 ? "seen" : "updated";
}

function isChange({ kind }: ServerDiff): boolean {
  return kind === "appeared" || kind === "changed" || kind === "gone";
}

/** Says of those that appeared where they come from. */
function* withMoves(
  servers: readonly ServerDiff[],
  left: readonly ServerDiff[],
  appeared: readonly ServerDiff[],
): Slices<readonly ServerDiff[]> {
  if (left.length === 0 || appeared.length === 0) return servers;
  const from = yield* onlyOnes(left);
  const to = yield* onlyOnes(appeared);
  return servers.map((diff) => {
    const source = diff.after && to.get(diff.after.id) === diff ? from.get(diff.after.id) : null;
    const isSame = source?.before?.name === diff.after?.name;
    return source && isSame ? { ...diff, movedFrom: source.sandboxId } : diff;
  });
}

/** By the server's id; null where several have it. */
function* onlyOnes(diffs: readonly ServerDiff[]): Slices<ReadonlyMap<string, ServerDiff | null>> {
  const found = new Map<string, ServerDiff | null>();
  for (const [at, diff] of diffs.entries()) {
    if (at % diffsPerSlice === diffsPerSlice - 1) yield;
    const id = (diff.after ?? diff.before)?.id ?? "";
    found.set(id, found.has(id) ? null : diff);
  }
  return found;
}

/** Of a poll that showed nothing. */
export const noDiff: Diff = { sandboxes: [], servers: [], changes: [], gaps: [] };
