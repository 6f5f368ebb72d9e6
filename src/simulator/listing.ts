import { faultsOf, type FullFault, type OddKind } from "./faults.ts";
import { sandboxJson } from "./sandbox-json.ts";
import type { World, WorldView } from "./world.ts";

const chunkLength = 64 * 1024;

/**
 * The body of a listing, in chunks made as they are asked for: a listing of any length costs the
 * memory of one chunk.
 *
 * @param given is listed instead of what the world holds
 */
export function* listingBody(
  world: World,
  view: WorldView,
  faults: readonly FullFault[],
  given?: readonly object[],
): Generator<string> {
  const servers = faultsOf(faults, "huge").at(-1)?.servers ?? view.servers;
  const hides = createShare(faultsOf(faults, "partial").at(-1)?.share ?? 0);
  // The odd ones come first: a reader that loses its way in them loses the true ones as well.
  const odd = oddSandboxes(faults);
  let text = `{"local_sandboxes":[${odd.join(",")}`;
  let counted = odd.length;
  let listed = odd.length;
  const texts = given?.map((each) => () => JSON.stringify(each));
  for (const sandboxText of texts ?? sandboxTexts(world, { ...view, servers }, faults)) {
    counted++;
    if (hides()) continue;
    text += (listed++ > 0 ? "," : "") + sandboxText();
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
  const vanishes = createShare(faultsOf(faults, "vanish").at(-1)?.share ?? 0);
  for (const sandbox of world.sandboxes(view)) {
    const servers = sandbox.servers.filter(() => !vanishes());
    if (servers.length > 0 || sandbox.servers.length === 0)
      yield () => sandboxJson({ ...sandbox, servers }, view.target.region);
  }
}

/** True for that share of the calls, spread evenly from the first on: the same ones every time. */
export function createShare(share: number): () => boolean {
  let due = share > 0 ? 1 : 0;
  return () => {
    const hit = due >= 1;
    due += share - (hit ? 1 : 0);
    return hit;
  };
}

/** Sandboxes, as JSON, that a service may send though its interface document does not say so. */
function oddSandboxes(faults: readonly FullFault[]): readonly string[] {
  const odd = faultsOf(faults, "odd").flatMap(({ kinds, length }) =>
    kinds.flatMap((kind) => oddities(length)[kind].map((item) => JSON.stringify(item))),
  );
  const nested = faultsOf(faults, "nested").map(({ depth }) =>
    JSON.stringify(oddSandbox(900, [oddServer(901, { metadata: "deep" })])).replace('"deep"', () =>
      nestedJson(depth),
    ),
  );
  return [...odd, ...nested];
}

/** A value nested that deep, which a parser that calls itself does not survive. */
export function nestedJson(depth: number): string {
  return `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
}

const createdAt = "2026-02-16T12:45:25.770231-08:00";

/** Fixed, so that the same odd things come back at every listing. */
function oddId(number: number): string {
  return `0dd00000-0000-4000-8000-${String(number).padStart(12, "0")}`;
}

function oddServer(number: number, over: object = {}): object {
  return { id: oddId(number), server_name: "filesystem", status: "idle", tags: null, ...over };
}

function oddSandbox(number: number, servers: unknown, over: object = {}): object {
  const id = oddId(number);
  return { local_sandbox_id: id, created_at: createdAt, status: "idle", servers, ...over };
}

const special = 'quote " backslash \\ newline \n tab \t brace }] , Ünïcödé 沙箱 🏖 nul \u0000';

const oddities = (length: number): Readonly<Record<OddKind, readonly unknown[]>> => ({
  null_status: [
    oddSandbox(100, [oddServer(101, { status: null }), oddServer(102, { status: undefined })], {
      status: null,
    }),
  ],
  unheard_status: [
    oddSandbox(
      200,
      [oddServer(201, { status: "hibernating" }), oddServer(202, { status: "IDLE" })],
      {
        status: "rebooting",
      },
    ),
  ],
  missing_id: [
    oddSandbox(300, [oddServer(301, { id: undefined }), oddServer(302)]),
    oddSandbox(310, [oddServer(311)], { local_sandbox_id: undefined }),
  ],
  wrong_types: [
    oddSandbox(400, [
      oddServer(401, { status: 7 }),
      oddServer(402, { server_name: ["git"], tags: "prod", benchmark: 1 }),
      oddServer(403, { metadata: "none", auth_data: [], updated_at: 1_771_274_725 }),
      "a server",
      null,
    ]),
    oddSandbox(410, "no servers", { created_at: null }),
    oddSandbox(420, [], { local_sandbox_id: 42 }),
    "a sandbox",
    null,
  ],
  unknown_field: [oddSandbox(500, [oddServer(501, { gpu: { count: 2 } })], { zone: "b" })],
  duplicate_id: [
    oddSandbox(600, [oddServer(601), oddServer(601, { status: "occupied" })]),
    oddSandbox(600, [oddServer(602)]),
  ],
  special_characters: [
    oddSandbox(
      700,
      [oddServer(701, { id: `server ${special}`, server_name: special, tags: [special] })],
      { local_sandbox_id: `sandbox ${special}`, benchmark: special },
    ),
  ],
  long_string: [oddSandbox(800, [oddServer(801, { server_name: "x".repeat(length) })])],
});
