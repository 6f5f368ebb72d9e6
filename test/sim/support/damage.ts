import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Dice } from "../draw/dice.ts";
import type { Damage } from "../history.ts";
import type { Scenario } from "../scenario.ts";
import type { World } from "./world.ts";

interface Kind {
  readonly table: string;
  readonly kind: Damage["kind"];
  /** The rows that can be damaged, each with its key as `id`, and what the oracle has to know of it. */
  readonly rows: string;
  /** The key of a row, where it is not the column `id`. */
  readonly key?: string;
  /** Each assignment makes a row unreadable. */
  readonly set: readonly [string, ...string[]];
}

const target = "(select region || '/' || key from targets where targets.id = target_id) as target";
const box = "trim(sandbox_id || ' ' || coalesce(server_id, ''))";
const flapKey = "target_id || rule || sandbox_id || server_id";
const driftKey = "operation || region || field || problem || word";

/** How the store keeps what is damaged. */
const kinds: readonly [Kind, ...Kind[]] = [
  {
    table: "silences",
    kind: "silence",
    rows: `select id from silences where ends_at_ms > :now`,
    set: [`match = '{"rule'`, `match = '{}'`],
  },
  {
    table: "flap_records",
    kind: "flaps",
    rows: `select ${flapKey} as id, rule, ${target}, ${box} as servers from flap_records`,
    key: flapKey,
    set: [`entered = '[1,'`],
  },
  {
    table: "incidents",
    kind: "incident",
    rows: `select id, rule, ${target}, ${box} as servers from incidents
      where subject in ('server', 'sandbox') and phase not in ('resolved', 'burning')`,
    set: [`phase = 'burning'`],
  },
  {
    table: "servers",
    kind: "servers",
    rows: `select id, ${target}, ${box} as servers from servers where gone_at_ms is null`,
    set: [`status = 'odd'`, `tags = '["T'`],
  },
  {
    table: "sandboxes",
    kind: "servers",
    rows: `select target_id || sandbox_id as id, ${target}, concat_ws('|', sandbox_id, (select group_concat(${box}, '|')
      from servers where servers.target_id = sandboxes.target_id and servers.sandbox_id = sandboxes.sandbox_id)) as servers
      from sandboxes where gone_at_ms is null`,
    key: "target_id || sandbox_id",
    set: [`status = 'odd'`],
  },
  {
    table: "changes",
    kind: "change",
    rows: `select changes.seq as id, ${target},
      json_array(at_ms, ${box}, from_status, to_status, dwell_ms, observation) as line
      from changes join (select id as server, null as sandbox, sandbox_id, server_id from servers union all
        select null, id, sandbox_id, null from sandboxes) as subjects
      on subjects.server = changes.server or subjects.sandbox = changes.sandbox`,
    key: "seq",
    set: [`to_status = 'odd'`, `observation = 'odd'`],
  },
  {
    table: "drift",
    kind: "drift",
    rows: `select ${driftKey} as id from drift where problem not like 'odd%'`,
    key: driftKey,
    set: [`problem = 'odd ' || (select count(*) from drift) || problem`],
  },
];

/** What waits for a receiver. */
const messageKinds: readonly [Kind, Kind] = [
  {
    table: "notifications",
    kind: "message",
    rows: `select seq as id, receiver, body ->> '$.type' as type, body ->> '$.rule' as rule,
      (select group_concat(value ->> '$.id', '|') from json_each(body, '$.incidents')) as incidents
      from notifications where state = 'pending' and json_valid(body)`,
    key: "seq",
    set: [`body = '{"id":"'`],
  },
  {
    table: "outbox_items",
    kind: "message",
    rows: `select seq as id, receiver, type, body ->> '$.rule' as rule, incident_id as incidents
      from outbox_items where notification_seq is null and json_valid(body)`,
    key: "seq",
    set: [`body = '{"rule":"'`],
  },
];

/** The one receiver whose messages are damaged, with the rules whose incidents others are notified of, too. */
function unluckyReceiver({ receivers, rules, stages }: Scenario) {
  const last = receivers.at(-1);
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

  const isEligible = ({ kind, receiver, rule, type }: Damage): boolean =>
    kind !== "message" ||
    (unlucky !== null &&
      receiver === unlucky.name &&
      unlucky.rules.has(rule) &&
      ["incident.firing", "incident.resolved"].includes(type));

  const damageOne = (
    database: DatabaseSync,
    { table, kind, rows, key = "id", set: sets }: Kind,
    own: Dice,
    life: number,
  ): void => {
    const query = database.prepare(rows);
    query.setAllowUnknownNamedParameters(true);
    const eligible = query
      .all({ now: time.utcMs })
      .map((row) => {
        const text = (name: string): string => String(row[name] ?? "");
        const damage = {
          life,
          kind,
          id: text("id"),
          rule: text("rule"),
          target: text("target"),
          servers: text("servers").split("|"),
          receiver: text("receiver"),
          type: text("type"),
          incidents: text("incidents").split("|"),
          line: text("line"),
        };
        return { id: row["id"] ?? null, damage };
      })
      .filter(({ damage }) => isEligible(damage));
    const chosen = eligible[own.between(0, Math.max(0, eligible.length - 1))];
    const set = own.pick(sets);
    if (!chosen) return;
    const { id, damage } = chosen;
    all.push(damage);
    // Else a server that is not listed again would be known again once its sandbox is stored again.
    for (const each of table === "sandboxes" ? [table, "servers"] : [table]) {
      database.prepare(`update ${each} set ${set} where ${key} = ?`).run(id);
    }
    world.log(`a row of ${table} is damaged: ${damage.id}`);
  };

  return {
    all,
    beforeRestart(storePath: string, life: number): void {
      if (time.nowMs >= scenario.calmMs) return;
      const [isDamaged, isMessageDamaged] = [dice.chance(chance), ofMessages.chance(messageChance)];
      if ((!isDamaged && !isMessageDamaged) || !existsSync(storePath)) return;
      using database = new DatabaseSync(storePath);
      const made = database.prepare("select 1 from sqlite_schema where name = 'drift'").get();
      if (!made) return;
      if (isDamaged) {
        for (let left = dice.pick([1, 1, 3]); left > 0; left--) {
          damageOne(database, dice.pick(kinds), dice, life);
        }
      }
      if (isMessageDamaged) damageOne(database, ofMessages.pick(messageKinds), ofMessages, life);
    },
  };
}
