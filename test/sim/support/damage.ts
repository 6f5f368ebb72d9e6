import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { SQLOutputValue } from "node:sqlite";
import { resolutions } from "../history.ts";
import type { Damage, DamageEffect } from "../history.ts";
import { namesNoIds } from "../receiver-types.ts";
import type { Scenario } from "../scenario.ts";
import type { Dice } from "./dice.ts";
import type { Trace } from "./trace.ts";
import type { WorldTime } from "./world-time.ts";

export interface DamageDeps {
  readonly scenario: Scenario;
  readonly time: WorldTime;
  readonly dice: Dice;
  readonly trace: Trace;
}

/** Spoils rows of the store before a process starts. */
export interface Damages {
  beforeStart(storePath: string, life: number): void;
  readonly all: readonly Damage[];
}

type Row = Readonly<Record<string, SQLOutputValue>>;

interface Kind {
  readonly table: string;
  /** The rows that can be spoilt, each with its `rowid` or key as `id`. */
  readonly rows: (nowUtcMs: number) => string;
  /** Each of them leaves a row that cannot be read. */
  readonly spoil: readonly [string, ...string[]];
  /** What is spoilt with it. */
  readonly also?: string;
  /** What of the row the oracle has to know. */
  readonly effect: (row: Row) => DamageEffect;
}

const target = "(select region || '/' || key from targets where targets.id = target_id)";
const box = "sandbox_id || ' ' || server_id";
const text = (value: SQLOutputValue | undefined): string => String(value ?? "");

/** Which row is spoilt. */
interface Choice {
  readonly kind: Kind;
  readonly own: Dice;
  readonly isEligible: (row: Row) => boolean;
}

/** The one place that knows how the store keeps what is spoilt. */
const kinds: readonly [Kind, ...Kind[]] = [
  {
    table: "silences",
    rows: (nowUtcMs) => `select id from silences where ends_at_ms > ${nowUtcMs}`,
    spoil: [
      `update silences set match = '{"rule' where id = ?`,
      `update silences set match = '{}' where id = ?`,
    ],
    effect: ({ id }) => ({ kind: "silence", id: text(id) }),
  },
  {
    table: "flap_records",
    rows: () =>
      `select target_id || rule || sandbox_id || server_id as id, rule, ${target} as target, ${box} as server from flap_records`,
    spoil: [
      `update flap_records set entered = '[1,' where target_id || rule || sandbox_id || server_id = ?`,
    ],
    effect: (row) => ({ kind: "flaps", ...subjectOf(row) }),
  },
  {
    table: "incidents",
    rows: () =>
      `select id, rule, ${target} as target, ${box} as server from incidents where subject = 'server' and phase not in ('resolved', 'burning') and json_valid(receivers)`,
    spoil: [
      `update incidents set receivers = '["onc' where id = ?`,
      `update incidents set phase = 'burning' where id = ?`,
    ],
    effect: (row) => ({ kind: "incident", id: text(row["id"]), ...subjectOf(row) }),
  },
  {
    table: "servers",
    rows: () =>
      `select id, ${target} as target, ${box} as servers from servers where gone_at_ms is null`,
    spoil: [
      `update servers set status = 'odd' where id = ?`,
      `update servers set tags = '["T' where id = ?`,
    ],
    effect: forgotten,
  },
  {
    table: "sandboxes",
    rows: () =>
      `select target_id || sandbox_id as id, ${target} as target, (select group_concat(${box}, '|') from servers
         where servers.target_id = sandboxes.target_id and servers.sandbox_id = sandboxes.sandbox_id) as servers from sandboxes`,
    spoil: [`update sandboxes set status = 'odd' where target_id || sandbox_id = ?`],
    // Else one that is not listed again would be known again once its sandbox is stored again.
    also: `update servers set status = 'odd' where target_id || sandbox_id = ?`,
    effect: forgotten,
  },
  {
    table: "changes",
    rows: () =>
      `select changes.seq as id, at_ms, ${target} as target, ${box} as server, from_status, to_status, dwell_ms, observation
         from changes join servers on servers.id = changes.server`,
    spoil: [
      `update changes set to_status = 'odd' where seq = ?`,
      `update changes set observation = 'odd' where seq = ?`,
    ],
    effect: (row) => ({
      kind: "change",
      target: text(row["target"]),
      line: JSON.stringify([
        row["at_ms"],
        row["server"],
        row["from_status"],
        row["to_status"],
        row["dwell_ms"],
        row["observation"],
      ]),
    }),
  },
  {
    table: "open_buckets",
    rows: () =>
      `select id, region || '/' || key as target, '5m' as resolution, open_bucket as bucket from targets where json_valid(open_bucket)`,
    spoil: [
      `update targets set open_bucket = '{' where id = ?`,
      `update targets set open_bucket = '{"start":1' where id = ?`,
    ],
    effect: bucketOf,
  },
  {
    table: "open_buckets",
    rows: () =>
      `select target_id || resolution as id, ${target} as target, resolution, bucket from open_buckets where json_valid(bucket)`,
    spoil: [`update open_buckets set bucket = '[' where target_id || resolution = ?`],
    effect: bucketOf,
  },
  {
    table: "drift",
    rows: () =>
      `select operation || region || field || problem || word as id from drift where problem not like 'odd%'`,
    spoil: [
      `update drift set problem = 'odd ' || (select count(*) from drift) || problem
         where operation || region || field || problem || word = ?`,
    ],
    effect: () => ({ kind: "nothing" }),
  },
];

/** Of what waits for a receiver. */
const messageKinds: readonly [Kind, Kind] = [
  {
    table: "notifications",
    rows: () =>
      `select seq as id, receiver, json_extract(body, '$.type') as type, json_extract(body, '$.rule') as rule,
         (select group_concat(json_extract(value, '$.id'), '|') from json_each(body, '$.incidents')) as incidents
         from notifications where state = 'pending' and json_valid(body)`,
    spoil: [`update notifications set body = '{"id":"' where seq = ?`],
    effect: messageOf,
  },
  {
    table: "outbox_items",
    rows: () =>
      `select seq as id, receiver, type, json_extract(body, '$.rule') as rule, incident_id as incidents
         from outbox_items where notification_seq is null and json_valid(body)`,
    spoil: [`update outbox_items set body = '{"rule":"' where seq = ?`],
    effect: messageOf,
  },
];

function messageOf(row: Row): DamageEffect {
  const incidents = text(row["incidents"]).split("|");
  return { kind: "message", receiver: text(row["receiver"]), type: text(row["type"]), incidents };
}

/** The one receiver whose messages are spoilt, of rules of which another receiver hears all; null: there is none. */
function unluckyReceiver({ receivers, rules, stages }: Scenario) {
  const last = receivers.findLast(({ type }) => type === "webhook");
  if (!last || stages.length > 1 || namesNoIds({ receivers })) return null;
  const others = receivers.filter((each) => each !== last && each.sendResolved);
  const shared = rules.filter(
    (rule) =>
      rule.receivers.includes(last.name) &&
      others.some(({ name }) => rule.receivers.includes(name)),
  );
  return { name: last.name, rules: new Set(shared.map(({ name }) => name)) };
}

function subjectOf(row: Row) {
  return { rule: text(row["rule"]), target: text(row["target"]), server: text(row["server"]) };
}

function forgotten(row: Row): DamageEffect {
  const servers = text(row["servers"]).split("|");
  return { kind: "servers", target: text(row["target"]), servers };
}

function bucketOf(row: Row): DamageEffect {
  const bucket: { readonly start: number } = JSON.parse(text(row["bucket"]));
  const resolution = resolutions.find((each) => each === row["resolution"]) ?? "5m";
  return { kind: "bucket", target: text(row["target"]), resolution, startMs: bucket.start };
}

export function createDamages({ scenario, time, dice, trace }: DamageDeps): Damages {
  const all: Damage[] = [];
  const chance = dice.pick([0, 0, 0.3, 0.6]);
  const ofMessages = dice.fork("messages");
  const messageChance = ofMessages.pick([0, 0.5, 1]);
  const unlucky = unluckyReceiver(scenario);
  const spoilMessage = (database: DatabaseSync, life: number): void =>
    spoilOne(database, life, {
      kind: ofMessages.pick(messageKinds),
      own: ofMessages,
      isEligible: (row) =>
        unlucky !== null &&
        row["receiver"] === unlucky.name &&
        unlucky.rules.has(text(row["rule"])) &&
        ["incident.firing", "incident.resolved"].includes(text(row["type"])),
    });
  const spoilOne = (
    database: DatabaseSync,
    life: number,
    { kind, own, isEligible }: Choice,
  ): void => {
    const { table, rows, spoil, also, effect } = kind;
    const found = database.prepare(rows(time.utcMs)).all().filter(isEligible);
    const row = found[own.between(0, Math.max(0, found.length - 1))];
    const damage = own.pick(spoil);
    if (!row) return;
    const { id = null } = row;
    all.push({ life, table, effect: effect(row) });
    database.prepare(damage).run(id);
    if (also !== undefined) database.prepare(also).run(id);
    trace.tell(`a row of ${table} is spoilt: ${text(id)}`);
  };
  return {
    all,
    beforeStart(storePath, life) {
      if (time.nowMs >= scenario.calmMs) return;
      const [isSpoilt, isMessageSpoilt] = [dice.chance(chance), ofMessages.chance(messageChance)];
      if ((!isSpoilt && !isMessageSpoilt) || !existsSync(storePath)) return;
      using database = new DatabaseSync(storePath);
      const made = database.prepare("select 1 from sqlite_schema where name = 'drift'").get();
      if (!made) return;
      if (isSpoilt) {
        for (let left = dice.pick([1, 1, 3]); left > 0; left--) {
          spoilOne(database, life, { kind: dice.pick(kinds), own: dice, isEligible: () => true });
        }
      }
      if (isMessageSpoilt) spoilMessage(database, life);
    },
  };
}
