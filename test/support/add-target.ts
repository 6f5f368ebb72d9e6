import type { Target } from "../../src/fleet/model.ts";
import type { Store } from "../../src/store/store.ts";
import type { StoredTarget } from "../../src/store/targets.ts";

export async function addTarget(
  store: Pick<Store, "targets">,
  target: Target,
): Promise<StoredTarget> {
  const [added] = await store.targets.addAll([target]);
  if (!added) throw new Error("a target that is added is given back");
  return added;
}
