import { answerJson, startPeer } from "../service/peer.ts";

/** The status of a sandbox with those of its servers; `absent`: the field is missing. */
export type StatedSandbox = readonly [
  status: string | null,
  servers: readonly (string | null)[],
  benchmark?: string,
];

const createdAt = "2026-11-18T09:30:00.000000+00:00";

/** A service that lists just these sandboxes to every key. Servers have the ids `A/0`, `A/1` and the names of `names`. */
export async function startListedService(first: Readonly<Record<string, StatedSandbox>>) {
  let listed = first;
  const { baseUrl } = await startPeer((_, response) => {
    const sandboxes = Object.entries(listed).map(([id, [status, servers, benchmark = null]]) => ({
      local_sandbox_id: id,
      created_at: createdAt,
      ...statusField(status),
      benchmark,
      servers: servers.map((each, at) => ({
        id: `${id}/${at}`,
        server_name: names[at % names.length],
        mcp_server_url: null,
        ...statusField(each),
        benchmark: null,
        updated_at: null,
        metadata: null,
        auth_data: null,
        tags: at === 0 ? ["first"] : [],
      })),
    }));
    answerJson(response, { local_sandboxes: sandboxes, total_count: sandboxes.length });
  });
  return {
    baseUrl,
    list(next: typeof first): void {
      listed = next;
    },
  };
}

const names = ["github", "slack"];

function statusField(status: string | null) {
  return status === "absent" ? {} : { status };
}
