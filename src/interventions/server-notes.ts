import { matchesAny } from "../core/matching.ts";
import type { SilenceMatch } from "../core/silence.ts";
import type { ServerRow } from "../core/snapshot/snapshot.ts";
import type { WatchedView } from "../core/watched-view.ts";
import { batches, paced } from "../platform/paced.ts";

interface ServerField {
  readonly name: string;
  readonly patterns: (match: SilenceMatch) => readonly string[];
  readonly textsOf: (server: ServerRow) => readonly (string | null)[];
}

/** What a silence can match of servers. */
const fields: readonly ServerField[] = [
  {
    name: "sandbox_id",
    patterns: ({ sandboxId = [] }) => sandboxId,
    textsOf: ({ sandboxId }) => [sandboxId],
  },
  {
    name: "server_id",
    patterns: ({ serverId = [] }) => serverId,
    textsOf: ({ serverId }) => [serverId],
  },
  {
    name: "server_name",
    patterns: ({ serverName = [] }) => serverName,
    textsOf: ({ serverName }) => [serverName],
  },
  {
    name: "benchmark",
    patterns: ({ benchmark = [] }) => benchmark,
    textsOf: ({ benchmark }) => [benchmark],
  },
  { name: "tag", patterns: ({ tag = [] }) => tag, textsOf: ({ tags }) => tags },
];

const serversAtOnce = 2_000;

/** Says of each pattern for servers that it matches none, where any are known. Others may yet come. */
export async function notesOfServers(
  match: SilenceMatch,
  targets: readonly Pick<WatchedView, "state">[],
): Promise<readonly string[]> {
  let unmatched = fields.flatMap((field) =>
    field.patterns(match).map((pattern) => ({ field, pattern })),
  );
  if (targets.every(({ state }) => state.snapshot.serverCount === 0)) return [];
  for (const { state } of targets) {
    if (unmatched.length === 0) break;
    const { snapshot } = state;
    using _ = snapshot.hold();
    for await (const servers of paced(batches(snapshot.servers(), serversAtOnce))) {
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
  servers: readonly ServerRow[],
  { textsOf }: ServerField,
  pattern: string,
): boolean {
  return servers.some((server) =>
    textsOf(server).some((text) => text !== null && matchesAny([pattern], text)),
  );
}
