import { expect } from "vitest";
import { statusAfter, statusBefore, type Diff } from "../../../src/fleet/diff.ts";
import type { SandboxDiff, ServerDiff } from "../../../src/fleet/diff.ts";
import { eachServer, findServer, isListed } from "../../../src/fleet/snapshot.ts";
import type { Snapshot } from "../../../src/fleet/snapshot.ts";
import { statuses } from "../../../src/fleet/model.ts";
import { countByStatus } from "../../../src/fleet/tallies.ts";
import { ownStatus, plainKey, type PlainStep } from "./plain-fleet.ts";

/** The servers of a snapshot as plain rows, in its order. */
export function serverRows(snapshot: Snapshot) {
  return Array.from(eachServer(snapshot), ({ sandbox, server }) => {
    const { since, ...attributes } = server;
    return { sandboxId: sandbox.id, ...attributes, ...since };
  });
}

export function sorted(rows: Iterable<unknown>): readonly string[] {
  return Array.from(rows, (row) => JSON.stringify(row, sortedKeys)).toSorted();
}

function sortedKeys(_: string, value: unknown): unknown {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value;
}

export function changeRows({ changes }: Diff) {
  return changes.map((diff) => {
    const { sandboxId, before, after, dwellMs } = diff;
    const server = after ?? before;
    return [sandboxId, server?.id, server?.name, statusBefore(diff), statusAfter(diff), dwellMs];
  });
}

function sandboxChangeRows({ sandboxChanges }: Diff) {
  return sandboxChanges.map((diff) => {
    const { sandboxId, before, after, dwellMs } = diff;
    expect((after ?? before)?.id).toBe(sandboxId);
    return [sandboxId, statusBefore(diff), statusAfter(diff), dwellMs];
  });
}

/** Those whose observation began or ended without a change of theirs. */
function interruptions<Each extends SandboxDiff | ServerDiff>(diffs: readonly Each[]) {
  return diffs.filter(({ kind }) => kind === "missing" || kind === "seen");
}

function interruptionRows({ servers }: Diff) {
  return interruptions(servers).map(({ sandboxId, before, kind }) => [sandboxId, before?.id, kind]);
}

/** Expects all that a snapshot and a diff say to be what the model says. */
export function expectStep(snapshot: Snapshot, diff: Diff, expected: PlainStep): void {
  const { fleet } = expected;
  const servers = fleet.servers.values().map(({ stated, ...row }) => {
    return { ...row, hasStated: ownStatus(stated) !== null };
  });
  expect(sorted(serverRows(snapshot))).toEqual(sorted(servers));
  const sandboxes = snapshot.sandboxes.map(({ since, ...row }) => {
    return { ...row, servers: null, ...since };
  });
  const expectedSandboxes = fleet.sandboxes.values().map(({ stated, ...row }) => {
    return { ...row, servers: null, statedStatus: ownStatus(stated) };
  });
  expect(sorted(sandboxes)).toEqual(sorted(expectedSandboxes));
  expect(sorted(changeRows(diff))).toEqual(sorted(expected.changes));
  expect(sorted(interruptionRows(diff))).toEqual(sorted(expected.interruptions));
  expect(sorted(sandboxChangeRows(diff))).toEqual(sorted(expected.sandboxChanges));
  const interrupted = interruptions(diff.sandboxes).map(({ sandboxId, kind }) => [sandboxId, kind]);
  expect(sorted(interrupted)).toEqual(sorted(expected.sandboxInterruptions));
  expectListed(snapshot, expected);
  expectTallies(snapshot);
  expect([...snapshot.places]).toEqual(snapshot.sandboxes.map(({ id }, place) => [id, place]));
  expect(snapshot.texts).toHaveLength(snapshot.sandboxes.length);
}

function expectListed(snapshot: Snapshot, { fleet, listed }: PlainStep): void {
  const found = snapshot.sandboxes
    .slice(0, snapshot.listedCount)
    .flatMap(({ id, servers }) =>
      servers.filter((server) => isListed(snapshot, server)).map((each) => plainKey(id, each.id)),
    );
  expect(found.toSorted()).toEqual([...listed].toSorted());
  for (const { sandboxId, id } of fleet.servers.values()) {
    expect(findServer(snapshot, sandboxId, id)?.id).toBe(id);
  }
}

/** Expects the counts of a snapshot to be what counting its rows gives. */
export function expectTallies(snapshot: Snapshot): void {
  const { tallies, sandboxes } = snapshot;
  const count = (rows: readonly { readonly status: string }[]) =>
    Object.fromEntries(
      statuses.map((status) => [status, rows.filter((row) => row.status === status).length]),
    );
  const rows = serverRows(snapshot);
  expect(tallies.sandboxes).toEqual(count(sandboxes));
  expect(tallies.listedSandboxes).toEqual(count(sandboxes.filter(({ missing }) => missing === 0)));
  expect(tallies.servers).toEqual(count(rows));
  const filled = [...tallies.names].filter(([, { servers }]) => countByStatus(servers) > 0);
  const byName = Object.groupBy(rows, ({ name }) => `:${name ?? ""}`);
  const expected = Object.values(byName).map((of = []) => {
    const name = of[0]?.name ?? "";
    const listed = of.filter(({ missing }) => missing === 0);
    return [name, { name, servers: count(of), listed: count(listed) }];
  });
  expect(new Map(filled)).toEqual(new Map(expected.map(([name, tally]) => [name, tally])));
}
