import type { Target } from "../fleet/model.ts";
import { childOf, draw, identityOf, mix, pick, uuidOf, type Identity } from "./hash.ts";
import { offsetHoursOf, statusAt, steady, type Load, type Tempo } from "./server-status.ts";

export interface SimulatedServer {
  readonly sandboxId: string;
  readonly serverId: string;
  readonly serverName: string;
  /** One of the interface's values, unless a pin says otherwise. */
  readonly status: string | null;
  readonly benchmark: string | null;
  readonly tags: readonly string[] | null;
  /** UTC milliseconds. */
  readonly updatedAtMs: number;
  /** Seeds the details of the wire: metadata, auth data, microseconds. */
  readonly seed: number;
}

export interface SimulatedSandbox {
  readonly sandboxId: string;
  /** UTC milliseconds. */
  readonly createdAtMs: number;
  readonly status: string;
  readonly benchmark: string | null;
  readonly servers: readonly SimulatedServer[];
  readonly seed: number;
}

/** What a pinned server shows: any status, null, or `absent` for no server at all. */
export interface Pin {
  readonly status: string | null;
  /** UTC milliseconds at which it was pinned. */
  readonly updatedAtMs: number;
}

export interface WorldView {
  readonly target: Target;
  readonly utcMs: number;
  /** How many servers there are, over all sandboxes, before pins make some absent. */
  readonly servers: number;
  /** By server id. */
  readonly pins: ReadonlyMap<string, Pin>;
}

export interface World {
  /** In the order of the listing. Made one by one as they are asked for; none is kept. */
  sandboxes(view: WorldView): Iterable<SimulatedSandbox>;
}

const hourMs = 3_600_000;
const shortestLifeMs = 12 * hourMs;
const longestLifeMs = 96 * hourMs;

/** The moment shown for ever by a world that stands still: a Wednesday at noon UTC. */
const stillUtcMs = Date.UTC(2026, 0, 7, 12);

/** Servers in a sandbox: four on average. */
const sizes = [1, 2, 3, 3, 4, 4, 5, 5, 5, 6, 6] as const;
const benchmarks = [null, null, null, null, "MCP_Atlas", "Toolathlon"] as const;
const tagSets = [["prod"], ["staging"], ["eval", "nightly"], ["prod", "team-a"], []] as const;

const purpose = { size: 1, life: 2, age: 3, names: 4, benchmark: 5, tagged: 6, tags: 7 };

/** What is the same for all sandboxes of a listing. */
interface Look extends Pick<WorldView, "pins"> {
  readonly region: string;
  readonly offsetHours: number;
  readonly atMs: number;
}

/**
 * A pure function of seed, target and time: equal arguments give equal worlds.
 *
 * @param pace how fast it moves, or how many times faster than usual; 0: it stands still
 */
export function createWorld(seed: number, pace: number | Tempo, load: Load = () => 1): World {
  const isStill = pace === 0;
  const tempo = typeof pace === "number" ? steady(isStill ? 1 : pace) : pace;
  const known = new Map<string, Identity>();
  /** Each is hashed once: it comes in sandbox after sandbox. */
  const identify = (what: "target" | "name", region: string, name: string): Identity => {
    const key = `${what}/${region}/${name}`;
    const identity = known.get(key) ?? identityOf(what, seed, region, name);
    known.set(key, identity);
    return identity;
  };

  const sandboxIn = (slot: Identity, size: number, look: Look): SimulatedSandbox => {
    const { region, offsetHours, atMs, pins } = look;
    const { generation, bornMs } = lifeAt(slot[0], tempo.worldMs(atMs));
    const identity = childOf(slot, generation);
    const [sandboxSeed] = identity;
    const sandboxId = uuidOf(identity);
    const benchmark = pick(benchmarks, sandboxSeed, purpose.benchmark);
    const names = drawServerNames(mix(sandboxSeed, purpose.names), size);
    const servers = names.flatMap((serverName, index): SimulatedServer[] => {
      const serverIdentity = childOf(identity, index + 1);
      const serverId = uuidOf(serverIdentity);
      const pin = pins.get(serverId);
      if (pin?.status === "absent") return [];
      const [serverSeed] = serverIdentity;
      const [nameSeed] = identify("name", region, serverName);
      const subject = { seed: serverSeed, sandboxSeed, nameSeed, bornMs, offsetHours, load };
      const isTagged = draw(serverSeed, purpose.tagged) < 0.15;
      return [
        {
          sandboxId,
          serverId,
          serverName,
          ...(pin ?? statusAt(subject, atMs, tempo)),
          benchmark,
          tags: isTagged ? pick(tagSets, serverSeed, purpose.tags) : null,
          seed: serverSeed,
        },
      ];
    });
    const status = ["error", "occupied"].find((each) => servers.some((s) => s.status === each));
    return {
      sandboxId,
      createdAtMs: tempo.utcMs(bornMs),
      status: status ?? "idle",
      benchmark,
      servers,
      seed: sandboxSeed,
    };
  };

  return {
    *sandboxes({ target: { region, key }, utcMs, servers, pins }) {
      const target = identify("target", region, key);
      const atMs = isStill ? stillUtcMs : utcMs;
      const look = { region, offsetHours: offsetHoursOf(region), atMs, pins };
      let left = servers;
      for (let index = 0; left > 0; index++) {
        const slot = childOf(target, index);
        // The size belongs to the slot and outlives the sandbox in it, so the total remains.
        const size = Math.min(left, pick(sizes, slot[0], purpose.size));
        left -= size;
        const sandbox = sandboxIn(slot, size, look);
        if (sandbox.servers.length > 0) yield sandbox;
      }
    },
  };
}

/** A slot of the listing holds one sandbox after another, each for the same span of the world's own time. */
function lifeAt(slotSeed: number, worldMs: number) {
  const spanMs = shortestLifeMs + draw(slotSeed, purpose.life) * (longestLifeMs - shortestLifeMs);
  const lifeMs = Math.round(spanMs);
  const phaseMs = Math.floor(draw(slotSeed, purpose.age) * lifeMs);
  const generation = Math.floor((worldMs - phaseMs) / lifeMs);
  return { generation, bornMs: generation * lifeMs + phaseMs };
}

/** The most popular first. */
const serverNames =
  `filesystem terminal git github fetch memory playwright google_sheets slack notion postgres
  google_calendar gmail puppeteer time google_drive sqlite brave_search arxiv word excel pdf_tools
  google_maps jira confluence linear asana trello airtable hubspot salesforce stripe shopify
  woocommerce snowflake bigquery mongodb redis elasticsearch kubernetes docker aws_s3
  google_cloud azure_devops gitlab bitbucket sentry grafana datadog pagerduty figma miro canvas
  zoom outlook onedrive dropbox box discord telegram whatsapp twilio sendgrid mailchimp youtube
  spotify reddit hackernews weather wikipedia huggingface wandb yfinance cal.com 12306`.split(
    /\s+/,
  );

/** How many servers there are of each name falls with its rank. */
const skew = 2.5;

/** Distinct names for the servers of one sandbox. */
function drawServerNames(seed: number, count: number): readonly string[] {
  const ranks = new Set<number>();
  for (let index = 0; index < count; index++) {
    let rank = Math.floor(serverNames.length * draw(seed, index) ** skew);
    while (ranks.has(rank)) rank = (rank + 1) % serverNames.length;
    ranks.add(rank);
  }
  return [...ranks].map((rank) => serverNames[rank] ?? "filesystem");
}
