import { targetName } from "../core/model.ts";
import { serverMsOf } from "../core/occupancy/bucket.ts";
import type { Groups, Leaf } from "./groups.ts";
import type { Stretch } from "./plan.ts";
import type { TargetBucket } from "./sources.ts";
import { numberTargets } from "./targets.ts";
import type { ReportedTarget } from "./targets.ts";

/** How many servers there were on average while a target was watched, or at least known. */
export type AverageServers = (target: number, leaf: Leaf) => number;

/** Made of the whole range: time of which nothing is kept is told of as if it were of as many. */
export async function estimateServers(
  groups: Groups,
  {
    targets,
    wholeRange,
    read,
  }: {
    readonly targets: readonly ReportedTarget[];
    readonly wholeRange: readonly Stretch[];
    readonly read: (stretch: Stretch) => AsyncIterable<TargetBucket>;
  },
): Promise<AverageServers> {
  const numbers = numberTargets(targets);
  const bookedMs = new Map<number, number>();
  const serverMs = new Map<Leaf, number>();
  for (const stretch of wholeRange) {
    for await (const { target, bucket } of read(stretch)) {
      const number = numbers.get(targetName(target));
      if (number === undefined) continue;
      bookedMs.set(number, (bookedMs.get(number) ?? 0) + bucket.bookedMs);
      for (const [name, account] of bucket.names) {
        const leaf = groups.leafOf(number, name);
        serverMs.set(leaf, (serverMs.get(leaf) ?? 0) + serverMsOf(account));
      }
    }
  }
  return (number, leaf) => {
    const booked = bookedMs.get(number) ?? 0;
    return booked === 0 ? 0 : (serverMs.get(leaf) ?? 0) / booked;
  };
}
