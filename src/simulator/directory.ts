import { draw, identityOf, mix, pick } from "./hash.ts";
import { formatTimestamp, offsetHoursOf } from "./region-time.ts";

/** Ids that the look-up operations know in a region. */
export interface KnownIds {
  readonly userIds: readonly string[];
  readonly universeIds: readonly string[];
  /** White-label look-ups that succeed. */
  readonly clientIds: readonly string[];
  /** The one that answers `success: false`, with a message and no data. */
  readonly failingClientId: string;
}

/** What the four look-up operations answer in a region; null where the id is unknown. */
export interface Directory {
  readonly knownIds: KnownIds;
  user(id: string): object | null;
  universes(): object;
  universeData(id: string): object | null;
  whiteLabel(id: string): object | null;
}

const users = 20;
const clients = 5;
const dayMs = 86_400_000;
const newestMs = Date.UTC(2026, 0, 1);

const domains = ["retail", "finance", "travel", "healthcare", "research", "logistics"] as const;
const roles = ["analyst", "manager", "engineer", "clerk", "assistant"] as const;
const people = ["Ada", "Grace", "Linus", "Margaret", "Edsger", "Barbara", "Alan"] as const;

export function createDirectory(seed: number, region: string): Directory {
  const regionSeed = identityOf("directory", seed, region)[0];
  const offsetHours = offsetHoursOf(region);
  const timeOf = (itemSeed: number, sinceMs: number): string =>
    formatTimestamp(sinceMs - Math.floor(draw(itemSeed, 1) * 300 * dayMs), offsetHours, itemSeed);
  const universeCount = 3 + (mix(regionSeed, 1) % 4);
  const knownIds: KnownIds = {
    userIds: numbered("user", users),
    universeIds: numbered(`universe-${region}`, universeCount),
    clientIds: numbered("client", clients),
    failingClientId: "client-suspended",
  };
  const seedOf = (id: string): number => identityOf(id, regionSeed)[0];

  return {
    knownIds,
    user(id) {
      if (!knownIds.userIds.includes(id)) return null;
      const itemSeed = seedOf(id);
      const neverUsed = id.endsWith("3");
      return {
        userId: id,
        createdAt: timeOf(itemSeed, newestMs - 300 * dayMs),
        lastUsedAt: neverUsed ? null : timeOf(mix(itemSeed, 2), newestMs),
      };
    },
    universes: () => ({
      universes: knownIds.universeIds.map((id) => {
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
      }),
    }),
    universeData(id) {
      if (!knownIds.universeIds.includes(id)) return null;
      const itemSeed = seedOf(id);
      return {
        filesystem: { files: numbered("notes", 3).map((name) => ({ path: `/home/${name}.md` })) },
        google_calendar: { events: [{ title: "Review", attendees: personasOf(itemSeed) }] },
        slack: { channels: ["general", pick(domains, itemSeed, 3)], messages: [] },
      };
    },
    whiteLabel(id) {
      if (id === knownIds.failingClientId) {
        return {
          success: false,
          data: null,
          message: "White-labeling is suspended for this client",
        };
      }
      if (!knownIds.clientIds.includes(id)) return null;
      const company = `${pick(people, seedOf(id), 5)} & Co`;
      const data = {
        client_id: id,
        company_name: company,
        logo_url: "https://example.com/logo.svg",
      };
      return { success: true, data, message: null };
    },
  };
}

function personasOf(itemSeed: number): readonly Readonly<Record<string, string>>[] {
  return Array.from({ length: 1 + (mix(itemSeed, 6) % 3) }, (_, index) => ({
    name: pick(people, itemSeed, 10 + index),
    role: pick(roles, itemSeed, 20 + index),
  }));
}

function numbered(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index + 1}`);
}
