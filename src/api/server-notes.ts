import { matchesAny } from "../alerts/rule.ts";
import type { SilenceMatch } from "../alerts/silence.ts";
import type { WatchedView } from "../alerts/watched-view.ts";
import { eachServer } from "../fleet/snapshot.ts";
import type { PlacedServer } from "../fleet/snapshot.ts";
import { batches, paced } from "../lib/paced.ts";

interface ServerField {
  readonly name: string;
  readonly patterns: (match: SilenceMatch) => readonly string[];
  readonly textsOf: (server: PlacedServer) => readonly (string | null)[];
}

/** The fields of servers that a silence can match. */
const fields: readonly ServerField[] = [
  {
    name: "sandbox_id",
    patterns: ({ sandbox_id: ids = [] }) => ids,
    textsOf: ({ sandbox }) => [sandbox.id],
  },
  {
    name: "server_id",
    patterns: ({ server_id: ids = [] }) => ids,
    textsOf: ({ server }) => [server.id],
  },
  {
    name: "server_name",
    patterns: ({ server_name: names = [] }) => names,
    textsOf: ({ server }) => [server.name],
  },
  {
    name: "benchmark",
    patterns: ({ benchmark = [] }) => benchmark,
    textsOf: ({ server }) => [server.benchmark],
  },
  { name: "tag", patterns: ({ tag = [] }) => tag, textsOf: ({ server }) => server.tags },
];

const serversAtOnce = 2_000;

/** Notes on the patterns that match no known server. Empty while no server is known. */
export async function serverNotes(
  match: SilenceMatch,
  targets: readonly Pick<WatchedView, "state">[],
): Promise<readonly string[]> {
  let unmatched = fields.flatMap((field) =>
    field.patterns(match).map((pattern) => ({ field, pattern })),
  );
  if (targets.every(({ state }) => eachServer(state.snapshot).next().done)) return [];
  for (const { state } of targets) {
    if (unmatched.length === 0) break;
    for await (const servers of paced(batches(eachServer(state.snapshot), serversAtOnce))) {
      unmatched = unmatched.filter(({ field, pattern }) => !isMatched(servers, field, pattern));
      if (unmatched.length === 0) break;
    }
  }
  return unmatched.map(
    ({ field: { name }, pattern }) =>
      `no known server has the ${name} ${JSON.stringify(pattern)}; only * is a wildcard, for any characters`,
  );
}

function isMatched(
  servers: readonly PlacedServer[],
  { textsOf }: ServerField,
  pattern: string,
): boolean {
  return servers.some((server) =>
    textsOf(server).some((text) => text !== null && matchesAny([pattern], text)),
  );
}
