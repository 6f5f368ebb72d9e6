import { z } from "zod";
import {
  sandboxSchema,
  serverSchema,
  universeSchema,
  userSchema,
  whiteLabelSchema,
} from "../service/schemas.ts";
import { draw, identityOf, mix, pick } from "./hash.ts";
import { offsetHoursOf } from "./server-status.ts";
import { formatTimestamp } from "./sandbox-json.ts";

const count = z.int().min(0).max(100_000);

/** The number of items to generate, or the items. */
function countOr<Item extends z.ZodType>(item: Item) {
  return z.union([count, z.array(item)], "a number of them, or a list of them").optional();
}

const regionContentSchema = z.strictObject({
  /** In each listing. */
  servers: count.optional(),
  users: countOr(userSchema.strict()),
  universes: countOr(universeSchema.strict()),
  /** By universe id; of a universe that is not named here it is made up. */
  universe_data: z.record(z.string(), z.json()).optional(),
  /** By client id. */
  white_labels: z.union([count, z.record(z.string(), whiteLabelSchema.strict())]).optional(),
  /** The listing of every key, instead of one that is made up. */
  local_sandboxes: z
    .array(sandboxSchema.extend({ servers: z.array(serverSchema.strict()) }).strict())
    .optional(),
});

/** The content of a region; omitted parts are generated. */
export type RegionContent = z.output<typeof regionContentSchema>;

/** The content of a data file: what each region holds, by its name. */
export const contentSchema = z.record(z.string(), regionContentSchema);

type WhiteLabel = z.output<typeof whiteLabelSchema>;

const dayMs = 86_400_000;
const newestMs = Date.UTC(2026, 0, 1);
const domains = ["retail", "finance", "travel", "healthcare", "research", "logistics"] as const;
const roles = ["analyst", "manager", "engineer", "clerk", "assistant"] as const;
const people = ["Ada", "Grace", "Linus", "Margaret", "Edsger", "Barbara", "Alan"] as const;

const failingClientId = "client-suspended";
const suspended: WhiteLabel = {
  success: false,
  data: null,
  message: "White-labeling is suspended for this client",
};

export type LookupData = ReturnType<typeof createLookupData>;

/** What the four look-up operations answer in a region: the same for the same seed and region. */
export function createLookupData(seed: number, region: string, content: RegionContent = {}) {
  const regionSeed = identityOf("directory", seed, region)[0];
  const offsetHours = offsetHoursOf(region);
  const timeOf = (itemSeed: number, sinceMs: number): string =>
    formatTimestamp(sinceMs - Math.floor(draw(itemSeed, 1) * 300 * dayMs), offsetHours, itemSeed);
  const seedOf = (id: string): number => identityOf(id, regionSeed)[0];

  const users = listOf(content.users ?? 20, "user", (id) => ({
    userId: id,
    createdAt: timeOf(seedOf(id), newestMs - 300 * dayMs),
    lastUsedAt: id.endsWith("3") ? null : timeOf(mix(seedOf(id), 2), newestMs),
  }));
  const universeCount = 3 + (mix(regionSeed, 1) % 4);
  const universes = listOf(content.universes ?? universeCount, `universe-${region}`, (id) => {
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
  });
  const makeData = (id: string) => ({
    filesystem: { files: numbered("notes", 3).map((name) => ({ path: `/home/${name}.md` })) },
    google_calendar: { events: [{ title: "Review", attendees: personasOf(seedOf(id)) }] },
    slack: { channels: ["general", pick(domains, seedOf(id), 3)], messages: [] },
  });
  const makeLabel = (id: string): WhiteLabel => ({
    success: true,
    data: {
      client_id: id,
      company_name: `${pick(people, seedOf(id), 5)} & Co`,
      logo_url: "https://example.com/logo.svg",
    },
    message: null,
  });
  const { white_labels: labels = 5 } = content;
  const whiteLabels = new Map([
    [failingClientId, suspended],
    ...(typeof labels === "number"
      ? numbered("client", labels).map((id) => [id, makeLabel(id)] as const)
      : Object.entries(labels)),
  ]);
  const usersById = new Map(users.map((user) => [user.userId, user]));
  const universeIds = new Set(universes.map(({ universe_id: id }) => id));
  const data = new Map(Object.entries(content.universe_data ?? {}));
  const knownIds = {
    userIds: [...usersById.keys()],
    universeIds: [...universeIds],
    /** White-label look-ups that succeed. */
    clientIds: Array.from(whiteLabels).flatMap(([id, { success }]) => (success ? [id] : [])),
    /** The one that answers `success: false`, with a message and no data. */
    failingClientId,
  };
  /** Undefined for an unknown id, as with those beside it. */
  const universeData = (id: string): unknown => {
    if (data.has(id)) return data.get(id);
    return universeIds.has(id) ? makeData(id) : undefined;
  };
  return {
    knownIds,
    universes,
    universeData,
    user: (id: string) => usersById.get(id),
    whiteLabel: (id: string) => whiteLabels.get(id),
  };
}

/** The items given, or N that are made up. */
function listOf<Item>(
  given: number | readonly Item[],
  prefix: string,
  make: (id: string) => Item,
): readonly Item[] {
  return typeof given === "number" ? numbered(prefix, given).map(make) : given;
}

function personasOf(itemSeed: number): Record<string, string>[] {
  return Array.from({ length: 1 + (mix(itemSeed, 6) % 3) }, (_, index) => ({
    name: pick(people, itemSeed, 10 + index),
    role: pick(roles, itemSeed, 20 + index),
  }));
}

function numbered(prefix: string, length: number): string[] {
  return Array.from({ length }, (_, index) => `${prefix}-${index + 1}`);
}
