import { existsSync } from "node:fs";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import type { Dice } from "../draw/dice.ts";
import { resolutions, type Damage, type DamageEffect } from "../history.ts";
import type { Scenario } from "../scenario.ts";
import type { World } from "./world.ts";

type Row = Readonly<Record<string, SQLOutputValue>>;

interface Kind {
  readonly table: string;
  /** The rows that can be damaged, each with its key as `id`. */
  readonly rows: (nowUtcMs: number) => string;
  /** The key of a row, where it is not the column `id`. */
  readonly key?: string;
  /** Each assignment makes a row unreadable. */
  readonly set: readonly [string, ...string[]];
  /** What the oracle has to know of the row. */
  readonly effect: (row: Row) => DamageEffect;
}

const target = "(select region || '/' || key from targets where targets.id = target_id)";
const box = "sandbox_id || ' ' || server_id";
const text = (value: SQLOutputValue | undefined): string => String(value ?? "");

const subjectOf = (row: Row) => ({
  rule: text(row["rule"]),
  target: text(row["target"]),
  server: text(row["server"]),
});

const serversOf = (row: Row): DamageEffect => ({
  kind: "servers",
  target: text(row["target"]),
  servers: text(row["servers"]).split("|"),
});

const bucketOf = (row: Row): DamageEffect => {
  const bucket: { readonly startMs: number } = JSON.parse(text(row["bucket"]));
  const resolution = resolutions.find((each) => each === row["resolution"]) ?? "5m";
  return { kind: "bucket", target: text(row["target"]), resolution, startMs: bucket.startMs };
};

const messageOf = (row: Row): DamageEffect => ({
  kind: "message",
  receiver: text(row["receiver"]),
  type: text(row["type"]),
  incidents: text(row["incidents"]).split("|"),
});

const flapKey = "target_id || rule || sandbox_id || server_id";
const driftKey = "operation || region || field || problem || word";

/** How the store keeps what is damaged. */
const kinds: readonly [Kind, ...Kind[]] = [
  {
    table: "silences",
    rows: (nowUtcMs) => `select id from silences where ends_at_ms > ${nowUtcMs}`,
    set: [`match = '{"rule'`, `match = '{}'`],
    effect: ({ id }) => ({ kind: "silence", id: text(id) }),
  },
  {
    table: "flap_records",
    rows: () =>
      `select ${flapKey} as id, rule, ${target} as target, ${box} as server from flap_records`,
    key: flapKey,
    set: [`entered = '[1,'`],
    effect: (row) => ({ kind: "flaps", ...subjectOf(row) }),
  },
  {
    table: "incidents",
    rows: () =>
      `select id, rule, ${target} as target, ${box} as server from incidents
         where subject = 'server' and phase not in ('resolved', 'burning') and json_valid(receivers)`,
    set: [`receivers = '["onc'`, `phase = 'burning'`],
    effect: (row) => ({ kind: "incident", id: text(row["id"]), ...subjectOf(row) }),
  },
  {
    table: "servers",
    rows: () =>
      `select id, ${target} as target, ${box} as servers from servers where gone_at_ms is null`,
    set: [`status = 'odd'`, `tags = '["T'`],
    effect: serversOf,
  },
  {
    table: "sandboxes",
    rows: () =>
      `select target_id || sandbox_id as id, ${target} as target, (select group_concat(${box}, '|') from servers
         where servers.target_id = sandboxes.target_id and servers.sandbox_id = sandboxes.sandbox_id) as servers from sandboxes`,
    key: "target_id || sandbox_id",
    set: [`status = 'odd'`],
    effect: serversOf,
  },
  {
    table: "changes",
    rows: () =>
      `select changes.seq as id, ${target} as target,
         json_array(at_ms, ${box}, from_status, to_status, dwell_ms, observation) as line
         from changes join servers on servers.id = changes.server`,
    key: "seq",
    set: [`to_status = 'odd'`, `observation = 'odd'`],
    effect: (row) => ({ kind: "change", target: text(row["target"]), line: text(row["line"]) }),
  },
  {
    table: "targets",
    rows: () =>
      `select id, region || '/' || key as target, '5m' as resolution, open_bucket as bucket
         from targets where json_valid(open_bucket)`,
    set: [`open_bucket = '{'`, `open_bucket = '{"startMs":1'`],
    effect: bucketOf,
  },
  {
    table: "open_buckets",
    rows: () =>
      `select target_id || resolution as id, ${target} as target, resolution, bucket
         from open_buckets where json_valid(bucket)`,
    key: "target_id || resolution",
    set: [`bucket = '['`],
    effect: bucketOf,
  },
  {
    table: "drift",
    rows: () => `select ${driftKey} as id from drift where problem not like 'odd%'`,
    key: driftKey,
    set: [`problem = 'odd ' || (select count(*) from drift) || problem`],
    effect: () => ({ kind: "nothing" }),
  },
];

/** What waits for a receiver. */
const messageKinds: readonly [Kind, Kind] = [
  {
    table: "notifications",
    rows: () =>
      `select seq as id, receiver, json_extract(body, '$.type') as type, json_extract(body, '$.rule') as rule,
         (select group_concat(json_extract(value, '$.id'), '|') from json_each(body, '$.incidents')) as incidents
         from notifications where state = 'pending' and json_valid(body)`,
    key: "seq",
    set: [`body = '{"id":"'`],
    effect: messageOf,
  },
  {
    table: "outbox_items",
    rows: () =>
      `select seq as id, receiver, type, json_extract(body, '$.rule') as rule, incident_id as incidents
         from outbox_items where notification_seq is null and json_valid(body)`,
    key: "seq",
    set: [`body = '{"rule":"'`],
    effect: messageOf,
  },
];

/** The one receiver whose messages are damaged, with the rules whose incidents others are notified of, too. */
function unluckyReceiver({ receivers, rules, stages }: Scenario) {
  const last = receivers.findLast(({ type }) => type === "webhook");
  if (!last || stages.length > 1) return null;
  const others = receivers.filter((each) => each !== last && each.sendResolved);
  const shared = rules.filter(
    (rule) =>
      rule.receivers.includes(last.name) &&
      others.some(({ name }) => rule.receivers.includes(name)),
  );
  return { name: last.name, rules: new Set(shared.map(({ name }) => name)) };
}

/** Damages rows of the store before a process starts. */
export function createDamages(world: World) {
  const { scenario, time } = world;
  const dice = world.dice.fork("damage");
  const all: Damage[] = [];
  const chance = dice.pick([0, 0, 0.3, 0.6]);
  const ofMessages = dice.fork("messages");
  const messageChance = ofMessages.pick([0, 0.5, 1]);
  const unlucky = unluckyReceiver(scenario);
  const isOfUnlucky = ({ receiver, rule, type }: Row): boolean =>
    unlucky !== null &&
    receiver === unlucky.name &&
    unlucky.rules.has(text(rule)) &&
    ["incident.firing", "incident.resolved"].includes(text(type));

  return {
    all,
    beforeRestart(storePath: string, life: number): void {
      if (time.nowMs >= scenario.calmMs) return;
      const [isDamaged, isMessageDamaged] = [dice.chance(chance), ofMessages.chance(messageChance)];
      if ((!isDamaged && !isMessageDamaged) || !existsSync(storePath)) return;
      using database = new DatabaseSync(storePath);
      const made = database.prepare("select 1 from sqlite_schema where name = 'drift'").get();
      if (!made) return;
      const damage = (kind: Kind, own: Dice, isEligible: (row: Row) => boolean): void => {
        const rows = database.prepare(kind.rows(time.utcMs)).all().filter(isEligible);
        const row = rows[own.between(0, Math.max(0, rows.length - 1))];
        const set = own.pick(kind.set);
        if (!row) return;
        const { id = null } = row;
        const { table, key = "id", effect } = kind;
        all.push({ life, effect: effect(row) });
        database.prepare(`update ${table} set ${set} where ${key} = ?`).run(id);
        if (table === "sandboxes") {
          // Else one that is not listed again would be known again once its sandbox is stored again.
          database.prepare(`update servers set status = 'odd' where ${key} = ?`).run(id);
        }
        world.log(`a row of ${table} is damaged: ${text(id)}`);
      };
      if (isDamaged) {
        for (let left = dice.pick([1, 1, 3]); left > 0; left--) {
          damage(dice.pick(kinds), dice, () => true);
        }
      }
      if (isMessageDamaged) damage(ofMessages.pick(messageKinds), ofMessages, isOfUnlucky);
    },
  };
}
