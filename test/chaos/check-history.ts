import { Client } from "pg";
import { z } from "zod";
import { intervalMs, schema, timeoutMs, type Truth } from "./world.ts";

const changeSchema = z.array(
  z.object({
    at_ms: z.coerce.number(),
    region: z.string(),
    key: z.string(),
    server_id: z.string(),
    from_status: z.string(),
    to_status: z.string(),
  }),
);
const gapSchema = z.array(
  z.object({
    region: z.string(),
    key: z.string(),
    from_at_ms: z.coerce.number(),
    to_at_ms: z.coerce.number(),
  }),
);
const bucketSchema = z.array(
  z.object({ region: z.string(), key: z.string(), recorded_ms: z.coerce.number() }),
);
const countSchema = z.array(z.object({ what: z.string(), count: z.coerce.number() }));

/** The latest that a poll can be after the one before it while the time between them is observed. */
const marginMs = 2.1 * intervalMs + timeoutMs;
const bucketMs = 3_600_000;
/** Time is measured by monotonic clocks, from which the wall clocks, by which it is sorted into buckets, may differ. */
const clockErrorShare = 0.0005;

/**
 * Compares what the store has with what the service showed, where the time is observed. The processes have stopped after
 * all was delivered.
 *
 * @param folder of the socket of PostgreSQL
 * @returns what is wrong, in words
 */
export async function checkHistory(
  folder: string,
  truth: readonly Truth[],
  fromMs: number,
): Promise<readonly string[]> {
  const client = new Client({ host: folder, user: "test", database: "postgres" });
  await client.connect();
  try {
    const read = async <T>(rows: z.ZodType<T>, query: string): Promise<T> =>
      rows.parse((await client.query(query)).rows);
    await client.query(`set search_path to ${schema}`);
    const changes = await read(
      changeSchema,
      `select at_ms, region, key, server_id, from_status, to_status from changes
       join servers on servers.id = changes.server join targets on targets.id = servers.target_id
       where observation is null order by seq`,
    );
    const gaps = await read(
      gapSchema,
      "select region, key, from_at_ms, coalesce(to_at_ms, recorded_to_ms) as to_at_ms from gaps join targets on targets.id = target_id",
    );
    const buckets = await read(
      bucketSchema,
      `select region, key, recorded_ms from rollups join targets on targets.id = target_id
       where counted = 'server' and resolution = '1h'`,
    );
    const left = await read(
      countSchema,
      `select 'items in the outbox' as what, count(*) from outbox_items where notification_seq is null
       union all select 'notifications ' || state, count(*) from notifications where state <> 'delivered' group by state
       union all select 'open incidents', count(*) from incidents where phase <> 'resolved'`,
    );
    return [
      ...left.flatMap(({ what, count }) => (count > 0 ? `${count} ${what} at the end` : [])),
      ...buckets.flatMap(({ region, key, recorded_ms: ms }) =>
        ms > bucketMs * (1 + clockErrorShare) ? `${region}/${key} has ${ms} ms in an hour` : [],
      ),
      ...compareStatuses(truth, changes, gaps, fromMs),
    ];
  } finally {
    await client.end();
  }
}

type Change = z.infer<typeof changeSchema>[number];
type Gap = z.infer<typeof gapSchema>[number];

interface Span {
  readonly status: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

function spansOf(steps: readonly { readonly status: string; readonly atMs: number }[]) {
  return steps.map(({ status, atMs }, index): Span => {
    return { status, fromMs: atMs, untilMs: steps[index + 1]?.atMs ?? Date.now() };
  });
}

function compareStatuses(
  truth: readonly Truth[],
  changes: readonly Change[],
  gaps: readonly Gap[],
  fromMs: number,
): readonly string[] {
  const problems: string[] = [];
  const stored = Map.groupBy(changes, ({ server_id: server }) => server);
  for (const [server, own] of Map.groupBy(truth, (each) => each.server)) {
    const steps = stored.get(server) ?? [];
    for (const [index, { from_status: from, at_ms: atMs }] of steps.entries()) {
      const before = steps[index - 1]?.to_status ?? "absent";
      if (from === before) continue;
      problems.push(`${server} changed from ${from} after ${before}: ${timeOf(atMs)}`);
    }
    const { region, key } = own[0] ?? { region: "", key: "" };
    const ownGaps = gaps.filter((gap) => gap.region === region && gap.key === key);
    const shown = spansOf(own.map(({ status, atMs }) => ({ status, atMs })));
    const claimed = spansOf(steps.map((step) => ({ status: step.to_status, atMs: step.at_ms })));
    for (const claim of claimed) {
      for (const real of shown) {
        if (real.status === claim.status) continue;
        const from = Math.max(real.fromMs + marginMs, claim.fromMs, fromMs);
        const until = Math.min(real.untilMs, claim.untilMs);
        if (until <= from || isInGap(ownGaps, from, until)) continue;
        problems.push(
          `${server} is stored as ${claim.status} and was ${real.status}: ${timeOf(from)} to ${timeOf(until)}`,
        );
      }
    }
  }
  return problems;
}

/** Whether all of it is in gaps, but for the time until the next poll. */
function isInGap(gaps: readonly Gap[], from: number, until: number): boolean {
  const covered = gaps.reduce(
    (sum, gap) => sum + Math.max(0, Math.min(gap.to_at_ms, until) - Math.max(gap.from_at_ms, from)),
    0,
  );
  return until - from - covered < marginMs;
}

const timeOf = (ms: number): string => new Date(ms).toISOString();
