import { targetName } from "../fleet/model.ts";
import type { Target } from "../fleet/model.ts";
import { chainStateAt } from "./chain.ts";
import { childOf, draw, identityOf, mix, pick, uuidOf, type Identity } from "./hash.ts";
import type { Pin } from "./pins.ts";
import { offsetHoursOf } from "./region-time.ts";
import { drawServerNames } from "./server-names.ts";
import { steady } from "./tempo.ts";
import type { Tempo } from "./tempo.ts";

export interface SimulatedServer {
  readonly sandboxId: string;
  readonly serverId: string;
  readonly serverName: string;
  /** One of the interface's values, unless a pin says otherwise. */
  readonly status: string | null;
  readonly benchmark: string | null;
  readonly tags: readonly string[] | null;
  /** UTC milliseconds of the last change of status. */
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

export interface WorldView {
  readonly target: Target;
  readonly utcMs: number;
  /** How many servers there are, over all sandboxes, before pins make some absent. */
  readonly servers: number;
  /** By server id. */
  readonly pins: ReadonlyMap<string, Pin>;
  /** Listed instead of what the world holds. */
  readonly given?: readonly object[] | undefined;
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

/**
 * A pure function of seed, target and time: equal arguments give equal worlds.
 *
 * @param tempo how fast it moves, or how many times faster than usual; 0: it stands still
 */
export function createWorld(seed: number, tempo: number | Tempo): World {
  const isStill = tempo === 0;
  const known = typeof tempo === "number" ? steady(isStill ? 1 : tempo) : tempo;
  const nameSeedsOf = createNameSeeds(seed);
  const identities = new Map<string, Identity>();
  const identityOfTarget = (target: Target): Identity => {
    const name = targetName(target);
    const identity = identities.get(name) ?? identityOf("target", seed, target.region, target.key);
    identities.set(name, identity);
    return identity;
  };
  return {
    *sandboxes({ target, utcMs, servers, pins }) {
      const targetIdentity = identityOfTarget(target);
      const offsetHours = offsetHoursOf(target.region);
      const atMs = isStill ? stillUtcMs : utcMs;
      const nameSeeds = nameSeedsOf(target.region);
      let left = servers;
      for (let slot = 0; left > 0; slot++) {
        const place = childOf(targetIdentity, slot);
        // The size belongs to the place and outlives the sandbox in it, so the total stays.
        const size = Math.min(left, pick(sizes, place[0], purpose.size));
        left -= size;
        const sandbox = buildSandbox({
          place,
          size,
          atMs,
          tempo: known,
          offsetHours,
          nameSeeds,
          pins,
        });
        if (sandbox.servers.length > 0) yield sandbox;
      }
    },
  };
}

interface Building {
  readonly place: Identity;
  readonly size: number;
  readonly atMs: number;
  readonly tempo: Tempo;
  readonly offsetHours: number;
  readonly nameSeeds: (name: string) => number;
  readonly pins: ReadonlyMap<string, Pin>;
}

function buildSandbox(building: Building): SimulatedSandbox {
  const { place, size, atMs, tempo, offsetHours, nameSeeds, pins } = building;
  const { generation, bornMs } = lifeAt(place[0], tempo.worldMs(atMs));
  const identity = childOf(place, generation);
  const sandboxSeed = identity[0];
  const sandboxId = uuidOf(identity);
  const benchmark = pick(benchmarks, sandboxSeed, purpose.benchmark);
  const names = drawServerNames(mix(sandboxSeed, purpose.names), size);
  const servers: SimulatedServer[] = [];
  for (const [index, serverName] of names.entries()) {
    const serverIdentity = childOf(identity, index + 1);
    const serverId = uuidOf(serverIdentity);
    const pin = pins.get(serverId);
    if (pin?.status === "absent") continue;
    const seed = serverIdentity[0];
    const nameSeed = nameSeeds(serverName);
    const state = chainStateAt({ seed, sandboxSeed, nameSeed, bornMs, offsetHours }, atMs, tempo);
    const tagged = draw(seed, purpose.tagged) < 0.15;
    servers.push({
      sandboxId,
      serverId,
      serverName,
      status: pin ? pin.status : state.status,
      benchmark,
      tags: tagged ? pick(tagSets, seed, purpose.tags) : null,
      get updatedAtMs() {
        return pin ? pin.sinceMs : state.sinceMs;
      },
      seed,
    });
  }
  const status = statusOfSandbox(servers);
  const createdAtMs = tempo.utcMs(bornMs);
  return { sandboxId, createdAtMs, status, benchmark, servers, seed: sandboxSeed };
}

function statusOfSandbox(servers: readonly SimulatedServer[]): string {
  if (servers.some((server) => server.status === "error")) return "error";
  return servers.some((server) => server.status === "occupied") ? "occupied" : "idle";
}

/** A place in the listing holds one sandbox after another, each for the same span of the world's own time. */
function lifeAt(placeSeed: number, worldMs: number) {
  const spanMs = shortestLifeMs + draw(placeSeed, purpose.life) * (longestLifeMs - shortestLifeMs);
  const lifeMs = Math.round(spanMs);
  const phaseMs = Math.floor(draw(placeSeed, purpose.age) * lifeMs);
  const generation = Math.floor((worldMs - phaseMs) / lifeMs);
  return { generation, bornMs: generation * lifeMs + phaseMs };
}

/** Of the names in a region. Each is hashed once: they come in sandbox after sandbox. */
function createNameSeeds(seed: number): (region: string) => (name: string) => number {
  const known = new Map<string, Map<string, number>>();
  return (region) => {
    const ofRegion = known.get(region) ?? new Map<string, number>();
    known.set(region, ofRegion);
    return (name) => {
      const nameSeed = ofRegion.get(name) ?? identityOf("name", seed, region, name)[0];
      ofRegion.set(name, nameSeed);
      return nameSeed;
    };
  };
}
