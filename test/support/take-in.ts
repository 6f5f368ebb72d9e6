import type { ListedSandbox } from "../../src/core/model.ts";
import { openIntake } from "../../src/core/snapshot/intake.ts";
import type { SnapshotIntake } from "../../src/core/snapshot/intake.ts";
import type { PackedSnapshot } from "../../src/core/snapshot/packed-snapshot.ts";
import type { Change } from "../../src/core/snapshot/changes.ts";

/** An intake that holds all of these sandboxes, each of which had to be read. */
export function intakeOf(
  snapshot: PackedSnapshot,
  sandboxes: readonly ListedSandbox[],
  goneAfter: number,
): SnapshotIntake {
  return takeIn(openIntake(snapshot, { goneAfter }), sandboxes);
}

export function takeIn(intake: SnapshotIntake, sandboxes: readonly ListedSandbox[]) {
  for (const sandbox of sandboxes) intake.listed(sandbox, null);
  return intake;
}

/** Changes with all that they tell, for comparing. */
export function changesOf(changes: Iterable<Change>): readonly Change[] {
  return Array.from(changes, ({ sandboxId, serverId, serverName, from, to, stayMs }) => ({
    sandboxId,
    serverId,
    serverName,
    from,
    to,
    stayMs,
  }));
}
