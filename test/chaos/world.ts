import { z } from "zod";

/** What is watched, and with which settings. */
export const intervalMs = 1_000;
export const leaseMs = 5_000;
export const timeoutMs = 2_000;
export const regions = ["us", "eu", "ap"];
export const keys = Array.from({ length: 6 }, (_, index) => `key-${index}`);
export const schema = "chaos";
export const receivers = ["oncall", "grouped"];

export interface ServerPlace {
  readonly region: string;
  readonly key: string;
  readonly server: string;
}

/** The servers of one name are a pool over all targets; the others are in no pool that can be full. */
export const pooled = "pooled";
const names = ["a", "b", "c", "d", pooled];

export const targets = regions.flatMap((region) => keys.map((key) => ({ region, key })));

export const serversOf = (region: string, key: string): readonly ServerPlace[] =>
  names.map((name) => ({ region, key, server: `${region}-${key}-${name}` }));

export const isPooled = ({ server }: ServerPlace): boolean => server.endsWith(`-${pooled}`);

export const targetNameOf = ({ region, key }: { region: string; key: string }): string =>
  `${region}/${key}`;

/** One listing, in which each server has the status that is given by its name. */
export function listingOf(
  region: string,
  key: string,
  statusOf: (server: string) => string,
): string {
  const servers = serversOf(region, key).map(({ server }, index) => ({
    id: server,
    server_name: names[index] === pooled ? pooled : "solo",
    mcp_server_url: `https://sandboxes.example.com/${server}/mcp/`,
    status: statusOf(server),
    benchmark: null,
    updated_at: "2026-02-16T12:45:25.000000+00:00",
    metadata: null,
    auth_data: null,
    tags: null,
  }));
  const sandbox = {
    local_sandbox_id: `${region}-${key}`,
    created_at: "2026-02-16T12:00:00.000000+00:00",
    status: "idle",
    benchmark: null,
    servers,
  };
  return JSON.stringify({ local_sandboxes: [sandbox], total_count: 1 });
}

/** Each process has keys of its own, by which the service knows who calls. They are secrets, so no process knows a difference. */
export const apiKeyOf = (key: string, incarnation: string): string => `${key}.${incarnation}`;

export function readApiKey(authorization: string | undefined) {
  const [, key = "", incarnation = ""] =
    /^Bearer (key-\d+)\.(\w+\.\d+)$/.exec(authorization ?? "") ?? [];
  return { key, incarnation };
}

export interface Addresses {
  readonly service: string;
  readonly hook: string;
  readonly port: number;
}

/** @param generation which configuration: a later one is newer */
export function configurationText(
  { service, hook, port }: Addresses,
  incarnation: string,
  generation: number,
): string {
  const listen = `127.0.0.1:${port}`;
  const webhook = (name: string, wait: string) => ({
    name,
    type: "webhook",
    url: `${hook}/${name}`,
    group_wait: wait,
    group_interval: "1s",
    give_up_after: "1h",
  });
  // YAML takes JSON as it is.
  return JSON.stringify({
    regions: Object.fromEntries(regions.map((name) => [name, { base_url: `${service}/${name}` }])),
    keys: keys.map((name) => ({ name, api_key: apiKeyOf(name, incarnation) })),
    poll: {
      every: `${intervalMs}ms`,
      timeout: `${timeoutMs}ms`,
      rate_limit: { requests: 100, per: "1s" },
    },
    store: { postgres: { url_file: "url", schema } },
    cluster: { address: `http://${listen}`, lease: `${leaseMs}ms` },
    http: { listen },
    log: { level: "info", format: "json" },
    history: { changes: `${300 + generation}d` },
    alerts: {
      rules: [
        { name: "server-error", on: "server", status: "error" },
        { name: "pool-full", on: "pool", by: "server_name", occupied_ratio: { above: 0.9 } },
      ],
      receivers: [webhook("oncall", "0s"), webhook("grouped", "1s")],
    },
  });
}

export const truthSchema = z.object({
  region: z.string(),
  key: z.string(),
  server: z.string(),
  status: z.string(),
  atMs: z.number(),
});
/** A status that the service began to show. */
export type Truth = z.infer<typeof truthSchema>;

export const callSchema = z.object({
  incarnation: z.string(),
  region: z.string(),
  key: z.string(),
  startMs: z.number(),
  endMs: z.number(),
});
/** A call of a listing, as the service saw it. */
export type Call = z.infer<typeof callSchema>;
