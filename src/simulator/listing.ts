import { faultsOf, type FullFault } from "./faults.ts";
import { oddSandboxesJson } from "./oddities.ts";
import { sandboxJson } from "./wire.ts";
import type { SimulatedSandbox, World, WorldView } from "./world.ts";

const chunkLength = 64 * 1024;

/**
 * The body of a listing, in chunks made as they are asked for: a listing of any length costs the
 * memory of one chunk.
 */
export function* listingBody(
  world: World,
  view: WorldView,
  faults: readonly FullFault[],
): Generator<string> {
  const servers = faultsOf(faults, "huge").at(-1)?.servers ?? view.servers;
  const hides = createShare(faultsOf(faults, "partial").at(-1)?.share ?? 0);
  // The odd ones come first: a reader that loses its way in them loses the true ones as well.
  const odd = [...faultsOf(faults, "odd").flatMap(oddSandboxesJson), ...nestedSandboxes(faults)];
  let text = `{"local_sandboxes":[${odd.join(",")}`;
  let counted = odd.length;
  let listed = odd.length;
  for (const sandbox of sandboxTexts(world, { ...view, servers }, faults)) {
    counted++;
    if (hides()) continue;
    text += (listed++ > 0 ? "," : "") + sandbox();
    if (text.length < chunkLength) continue;
    yield text;
    text = "";
  }
  yield `${text}],"total_count":${counted}}`;
}

/** Each as what makes its text: of those that are hidden none is made. */
function* sandboxTexts(
  world: World,
  view: WorldView,
  faults: readonly FullFault[],
): Generator<() => string> {
  if (view.given) {
    for (const sandbox of view.given) yield () => JSON.stringify(sandbox);
    return;
  }
  for (const sandbox of withVanished(world.sandboxes(view), faults)) {
    yield () => sandboxJson(sandbox, view.target.region);
  }
}

function* withVanished(
  sandboxes: Iterable<SimulatedSandbox>,
  faults: readonly FullFault[],
): Iterable<SimulatedSandbox> {
  const vanish = faultsOf(faults, "vanish").at(-1);
  if (!vanish) return yield* sandboxes;
  const vanishes = createShare(vanish.share);
  for (const sandbox of sandboxes) {
    const servers = sandbox.servers.filter(() => !vanishes());
    if (servers.length > 0) yield { ...sandbox, servers };
  }
}

/** True for that share of the calls, spread evenly from the first on: the same ones every time. */
function createShare(share: number): () => boolean {
  let due = share > 0 ? 1 : 0;
  return () => {
    const hit = due >= 1;
    due += share - (hit ? 1 : 0);
    return hit;
  };
}

function nestedSandboxes(faults: readonly FullFault[]): readonly string[] {
  return faultsOf(faults, "nested").map(
    ({ depth }) =>
      `{"local_sandbox_id":"0dd00000-0000-4000-8000-000000000900","created_at":"","servers":[{"id":"0dd00000-0000-4000-8000-000000000901","status":"idle","metadata":${nestedJson(depth)}}]}`,
  );
}

/** A value nested that deep, which a parser that calls itself does not survive. */
export function nestedJson(depth: number): string {
  return `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
}
