import type { z } from "zod";
import type { universeSchema, userSchema, whiteLabelSchema } from "../service/schemas.ts";
import type { RegionContent } from "./content.ts";
import { draw, identityOf, mix, pick } from "./hash.ts";
import { formatTimestamp, offsetHoursOf } from "./region-time.ts";

type User = z.output<typeof userSchema>;
type Universe = z.output<typeof universeSchema>;
type WhiteLabel = z.output<typeof whiteLabelSchema>;

/** Ids that the look-up operations know in a region. */
export interface KnownIds {
  readonly userIds: readonly string[];
  readonly universeIds: readonly string[];
  /** White-label look-ups that succeed. */
  readonly clientIds: readonly string[];
  /** The one that answers `success: false`, with a message and no data. */
  readonly failingClientId: string;
}

/** What the four look-up operations answer in a region. */
export interface Directory {
  readonly knownIds: KnownIds;
  user(id: string): User | undefined;
  universes(): readonly Universe[];
  /** Any JSON, null included; undefined for an unknown id, as in the ones beside it. */
  universeData(id: string): unknown;
  whiteLabel(id: string): WhiteLabel | undefined;
}

const users = 20;
const clients = 5;
const failingClientId = "client-suspended";
const dayMs = 86_400_000;
const newestMs = Date.UTC(2026, 0, 1);

const domains = ["retail", "finance", "travel", "healthcare", "research", "logistics"] as const;
const roles = ["analyst", "manager", "engineer", "clerk", "assistant"] as const;
const people = ["Ada", "Grace", "Linus", "Margaret", "Edsger", "Barbara", "Alan"] as const;

/** @param content what the region is to hold instead of what is made up */
export function createDirectory(
  seed: number,
  region: string,
  content: RegionContent = {},
): Directory {
  const maker = createMaker(seed, region);
  const usersById = new Map(
    listOf(content.users ?? users, "user", maker.user).map((user) => [user.userId, user]),
  );
  const universeCount = content.universes ?? maker.universeCount;
  const universes = listOf(universeCount, `universe-${region}`, maker.universe);
  const universeIds = new Set(universes.map(({ universe_id: id }) => id));
  const data = new Map(Object.entries(content.universe_data ?? {}));
  const whiteLabels = new Map([
    [failingClientId, suspended],
    ...whiteLabelsOf(content.white_labels ?? clients, maker.whiteLabel),
  ]);
  return {
    knownIds: {
      userIds: [...usersById.keys()],
      universeIds: [...universeIds],
      clientIds: Array.from(whiteLabels)
        .filter(([, { success }]) => success)
        .map(([id]) => id),
      failingClientId,
    },
    user: (id) => usersById.get(id),
    universes: () => universes,
    universeData(id) {
      if (data.has(id)) return data.get(id);
      return universeIds.has(id) ? maker.universeData(id) : undefined;
    },
    whiteLabel: (id) => whiteLabels.get(id),
  };
}

const suspended: WhiteLabel = {
  success: false,
  data: null,
  message: "White-labeling is suspended for this client",
};

function listOf<Item>(
  given: number | readonly Item[],
  prefix: string,
  make: (id: string) => Item,
): readonly Item[] {
  return typeof given === "number" ? numbered(prefix, given).map(make) : given;
}

function whiteLabelsOf(
  given: number | Readonly<Record<string, WhiteLabel>>,
  make: (id: string) => WhiteLabel,
): readonly (readonly [string, WhiteLabel])[] {
  if (typeof given !== "number") return Object.entries(given);
  return numbered("client", given).map((id) => [id, make(id)] as const);
}

/** Each of these makes up what has an id. */
interface Maker {
  readonly universeCount: number;
  readonly user: (id: string) => User;
  readonly universe: (id: string) => Universe;
  readonly universeData: (id: string) => unknown;
  readonly whiteLabel: (id: string) => WhiteLabel;
}

/** Makes up what a region holds: the same for the same seed and region. */
function createMaker(seed: number, region: string): Maker {
  const regionSeed = identityOf("directory", seed, region)[0];
  const offsetHours = offsetHoursOf(region);
  const timeOf = (itemSeed: number, sinceMs: number): string =>
    formatTimestamp(sinceMs - Math.floor(draw(itemSeed, 1) * 300 * dayMs), offsetHours, itemSeed);
  const seedOf = (id: string): number => identityOf(id, regionSeed)[0];
  return {
    universeCount: 3 + (mix(regionSeed, 1) % 4),
    user(id: string): User {
      const itemSeed = seedOf(id);
      const neverUsed = id.endsWith("3");
      return {
        userId: id,
        createdAt: timeOf(itemSeed, newestMs - 300 * dayMs),
        lastUsedAt: neverUsed ? null : timeOf(mix(itemSeed, 2), newestMs),
      };
    },
    universe(id: string): Universe {
      const itemSeed = seedOf(id);
      const domain = pick(domains, itemSeed, 3);
      return {
        universe_id: id,
        name: `${domain} of ${region}`,
        description: `A simulated world of ${domain}.`,
        domain,
        personas: personasOf(itemSeed),
        task_nums: numbered(domain, 2 + (mix(itemSeed, 4) % 5)),
        created_at: timeOf(itemSeed, newestMs),
      };
    },
    universeData(id: string) {
      const itemSeed = seedOf(id);
      return {
        filesystem: { files: numbered("notes", 3).map((name) => ({ path: `/home/${name}.md` })) },
        google_calendar: { events: [{ title: "Review", attendees: personasOf(itemSeed) }] },
        slack: { channels: ["general", pick(domains, itemSeed, 3)], messages: [] },
      };
    },
    whiteLabel(id: string): WhiteLabel {
      const data = {
        client_id: id,
        company_name: `${pick(people, seedOf(id), 5)} & Co`,
        logo_url: "https://example.com/logo.svg",
      };
      return { success: true, data, message: null };
    },
  };
}

function personasOf(itemSeed: number): Record<string, string>[] {
  return Array.from({ length: 1 + (mix(itemSeed, 6) % 3) }, (_, index) => ({
    name: pick(people, itemSeed, 10 + index),
    role: pick(roles, itemSeed, 20 + index),
  }));
}

function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index + 1}`);
}
