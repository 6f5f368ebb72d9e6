import type { Target } from "../fleet/model.ts";
import { childOf, draw, identityOf, mix, pick, uuidOf, type Identity } from "./hash.ts";
import { episodeAt, offsetHoursOf, statusAt, tempoOf } from "./server-status.ts";
import type { EpisodeKind, Load, Tempo } from "./server-status.ts";

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
  /** As that of a server; null: it states none. */
  readonly status: string | null;
  readonly benchmark: string | null;
  readonly servers: readonly SimulatedServer[];
  readonly seed: number;
}

/** What a pinned server or sandbox shows: any status, null, or `absent` for nothing at all. */
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
  /** By the id of a server or a sandbox. */
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

const purpose = { size: 1, life: 2, age: 3, names: 4, benchmark: 5, tagged: 6, tags: 7, own: 8 };

/**
 * - `agrees`: a sandbox states the worst that its servers state
 * - `bare`: it has no servers
 * - `alone`: its servers state no status
 * - `apart`: now and then it is in error while its servers are not
 * - `silent`: it states no status
 */
export type Manner = "agrees" | "bare" | "alone" | "apart" | "silent";

/** Of the sandboxes of a listing, again and again. */
export const variedManners: readonly Manner[] = [
  "agrees",
  "bare",
  "alone",
  "apart",
  "silent",
  "agrees",
  "agrees",
  "agrees",
];

const apartErrors: EpisodeKind = {
  slotMs: 4 * hourMs,
  chance: 0.3,
  longestMs: 20 * 60_000,
  struck: 1,
};

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
 * @param manners of the sandboxes of a listing, again and again
 */
export function createWorld(
  seed: number,
  pace: number | Tempo,
  load: Load = () => 1,
  manners: readonly Manner[] = ["agrees"],
): World {
  const isStill = pace === 0;
  const tempo = typeof pace === "number" ? tempoOf(isStill ? 1 : pace) : pace;
  const known = new Map<string, Identity>();
  /** Each is hashed once: it comes in sandbox after sandbox. */
  const identify = (what: "target" | "name", region: string, name: string): Identity => {
    const key = `${what}/${region}/${name}`;
    const identity = known.get(key) ?? identityOf(what, seed, region, name);
    known.set(key, identity);
    return identity;
  };

  const sandboxIn = (
    slot: Identity,
    size: number,
    manner: Manner,
    look: Look,
  ): SimulatedSandbox | null => {
    const { region, offsetHours, atMs, pins } = look;
    const { generation, bornMs } = lifeAt(slot[0], tempo.worldMs(atMs));
    const identity = childOf(slot, generation);
    const [sandboxSeed] = identity;
    const sandboxId = uuidOf(identity);
    const ownPin = pins.get(sandboxId);
    if (ownPin?.status === "absent") return null;
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
          ...(pin ?? shownBy(manner, statusAt(subject, atMs, tempo))),
          benchmark,
          tags: isTagged ? pick(tagSets, serverSeed, purpose.tags) : null,
          seed: serverSeed,
        },
      ];
    });
    // Those of which a pin makes all servers absent are not listed either.
    if (servers.length === 0 && size > 0) return null;
    const statuses = servers.map((each) => each.status);
    const [nameSeed] = identify("name", region, "");
    const ownSeed = mix(sandboxSeed, purpose.own);
    const subject = { seed: ownSeed, sandboxSeed, nameSeed, bornMs, offsetHours, load };
    const ownStatus = () => statedBy(manner, statuses, subject, atMs, tempo);
    return {
      sandboxId,
      createdAtMs: tempo.utcMs(bornMs),
      status: ownPin ? ownPin.status : ownStatus(),
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
        const manner = manners[index % manners.length] ?? "agrees";
        // The size belongs to the slot and outlives the sandbox in it, so the total remains.
        const size = manner === "bare" ? 0 : Math.min(left, pick(sizes, slot[0], purpose.size));
        left -= size;
        const sandbox = sandboxIn(slot, size, manner, look);
        if (sandbox) yield sandbox;
      }
    },
  };
}

/** What a sandbox states. */
function statedBy(
  manner: Manner,
  servers: readonly (string | null)[],
  subject: Parameters<typeof statusAt>[0],
  atMs: number,
  tempo: Tempo,
): string | null {
  const worst = ["error", "occupied"].find((each) => servers.includes(each)) ?? "idle";
  const { seed } = subject;
  switch (manner) {
    case "agrees":
      return worst;
    case "bare":
    case "alone":
      return statusAt(subject, atMs, tempo).status;
    case "apart":
      return episodeAt(apartErrors, seed, seed, tempo.worldMs(atMs))?.isOn ? "error" : worst;
    case "silent":
      return null;
  }
}

/** What a server shows in a sandbox. */
function shownBy(manner: Manner, own: ReturnType<typeof statusAt>): Pin {
  return manner === "alone" ? { ...own, status: null } : own;
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
