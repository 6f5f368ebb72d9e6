import { z } from "zod";
import { currentReplicas, liveReplicas, unitOfKey } from "../../cluster/assignment.ts";
import type { ClusterView, Replica } from "../../fleet/replicas.ts";
import { counted } from "../../fleet/plural.ts";
import type { StoreContext } from "../context.ts";
import { listed, notes, texts, time } from "../fields.ts";
import { defineOperation } from "../operation.ts";
import { toView } from "../view-fields.ts";

const unitView = z.object({
  unit: z.string(),
  keys: texts.describe("The configured keys of a unit of keys"),
  since: time,
});

const replicaView = z.object({
  id: z.string().describe("Another one after each start, and after its lease was lost"),
  address: z.string(),
  version: z.string(),
  configuration: z
    .enum(["current", "older"])
    .describe("Whether it has the newest configuration of those that live"),
  started_at: time,
  lease_ends_at: time.describe("By the clock of the database"),
  live: z.boolean().describe("Whether its lease has not ended"),
  targets: z.number().describe("How many configured targets it polls"),
  units: listed(unitView),
});
export type ReplicaView = z.output<typeof replicaView>;

export const listReplicas = defineOperation({
  name: "listReplicas",
  method: "GET",
  permission: "read",
  path: "/replicas",
  summary: "Several replicas: which there are, and what each owns since when",
  request: z.strictObject({}),
  response: z.object({ replicas: listed(replicaView), notes }),
  async handle({ store, targets }: Pick<StoreContext, "store" | "targets">) {
    const view = await store.replicas();
    return view === null ? { replicas: [], notes: [] } : viewReplicas(view, targets);
  },
});

export function viewReplicas(view: ClusterView, targets: StoreContext["targets"]) {
  const keys = Map.groupBy(new Set(targets.map(({ target }) => target.key)), (key) =>
    unitOfKey(key),
  );
  const current = new Set(currentReplicas(view).map(({ id }) => id));
  const live = new Set(liveReplicas(view).map(({ id }) => id));
  const unitsOf = Map.groupBy(view.units, ({ replica }) => replica);
  const ownerOf = new Map(view.units.map(({ name, replica }) => [name, replica]));
  const targetsOf = Map.groupBy(targets, ({ target }) => ownerOf.get(unitOfKey(target.key)) ?? "");
  const viewReplica = ({
    id,
    address,
    version,
    startedAtMs,
    expiresAtMs,
  }: Replica): ReplicaView => ({
    ...toView({ id, address, version, startedAtMs, leaseEndsAtMs: expiresAtMs }),
    configuration: current.has(id) ? "current" : "older",
    live: live.has(id),
    targets: targetsOf.get(id)?.length ?? 0,
    units: (unitsOf.get(id) ?? []).map(({ name, sinceMs }) => ({
      unit: name,
      keys: keys.get(name) ?? [],
      since: toView({ atMs: sinceMs }).at,
    })),
  });
  const unowned = targetsOf
    .entries()
    .reduce((sum, [id, some]) => (live.has(id) ? sum : sum + some.length), 0);
  return {
    replicas: view.replicas.map(viewReplica),
    notes:
      view.replicas.length > 0 && unowned > 0
        ? [
            `${counted(unowned, "target")} ${unowned === 1 ? "has" : "have"} no live replica at present`,
          ]
        : [],
  };
}
