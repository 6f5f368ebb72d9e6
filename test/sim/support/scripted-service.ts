import { apiKeyOf, roamer, serviceOrigin } from "../scenario.ts";
import type { Scenario, ScenarioTarget } from "../scenario.ts";
import type { ServiceRequest } from "../history.ts";
import type { ProbedOperation } from "../probes.ts";
import type { Dice } from "./dice.ts";
import { encode, pieces } from "./encoded-answer.ts";
import { createScriptedOperations } from "./scripted-operations.ts";
import type { Trace } from "./trace.ts";
import type { Peer, Reaction, VirtualRequest } from "./virtual-network.ts";
import type { WorldTime } from "./world-time.ts";

/** What can be wrong with the service in a region, each for a while. */
export const serviceTroubles = [
  "refuses",
  "breaks",
  "breaks_in_the_body",
  "hangs",
  "fails",
  "asks_for_patience",
  "limits",
  "rejects_the_key",
  "talks_nonsense",
  "forgets_a_field",
  "lists_in_part",
  "counts_oddly",
  "lists_oddly",
  "is_slow",
] as const;
export type ServiceTrouble = (typeof serviceTroubles)[number];

/** Those of every operation. */
const troublesOfAll: ReadonlySet<ServiceTrouble> = new Set<ServiceTrouble>([
  "refuses",
  "breaks",
  "hangs",
  "fails",
  "asks_for_patience",
  "limits",
  "rejects_the_key",
  "talks_nonsense",
]);

/** A service whose servers change by a script of their own. */
export interface ScriptedService {
  readonly peers: readonly Peer[];
  readonly requests: readonly ServiceRequest[];
  /** Lets the servers begin to change. */
  begin(): void;
  trouble(region: string, trouble: ServiceTrouble, chance: number): void;
  heal(region: string): void;
  /** Every server that is in error recovers, or stays so for good; nothing changes after that. */
  calm(): void;
}

export interface ScriptedServiceDeps {
  readonly scenario: Scenario;
  readonly time: WorldTime;
  readonly dice: Dice;
  readonly trace: Trace;
  /** A listing came that shows a server to be in error, or not to be any more. */
  readonly onNews: () => void;
}

const absent = "absent";
const choices = ["error", "error", "error", "error", "idle", "idle", "occupied", "odd", absent];

type Oddity = "in_part" | "count" | "item";

/** In place of a count that can be read. */
const oddCounts: readonly [string, ...string[]] = [
  "}",
  ',"total_count":null}',
  ',"total_count":"2"}',
  ',"total_count":1.5}',
  ',"total_count":1e400}',
];

const createdAt = "2026-11-20T09:30:00Z";
const sandbox = (id: string): unknown => ({
  local_sandbox_id: id,
  created_at: createdAt,
  servers: [],
});
const tooLong = "x".repeat(513);

/** What cannot be kept: an id that is too long, no id, or nothing of the kind. */
const oddItems: readonly [unknown, ...unknown[]] = [
  sandbox("x".repeat(2_000)),
  { created_at: createdAt, servers: [] },
  null,
];

/** Ids just beyond what can be kept, and with a NUL character. */
const oddIds: readonly [string, ...string[]] = [tooLong, "box\0-1", "\0"];

export function createScriptedService(deps: ScriptedServiceDeps): ScriptedService {
  const { scenario, time, dice, trace } = deps;
  const { intervalMs, targets } = scenario;
  const requests: ServiceRequest[] = [];
  const troubles = new Map<string, { readonly trouble: ServiceTrouble; readonly chance: number }>();
  /** By target, sandbox and server. */
  const statuses = new Map<string, string>();
  const changed = new Set<string>();
  const encoding = dice.fork("encoding");
  const oddities = dice.fork("oddities");
  let isCalm = false;

  const nameOf = ({ name }: ScenarioTarget, box: string, server: string): string =>
    `${name} ${box} ${server}`;

  const change = (name: string, target: string, status: string): void => {
    const before = statuses.get(name);
    if (before === status) return;
    statuses.set(name, status);
    if (before === "error" || status === "error") changed.add(target);
    trace.tell(`${name} is ${status}`);
  };

  const names = new Map<string, string>();
  const renaming = dice.fork("renaming");
  const rename = (name: string): void => {
    if (!scenario.service.renames || !renaming.chance(0.15)) return;
    names.set(name, `tool-${renaming.between(1, 3)}`);
    trace.tell(`${name} is called ${names.get(name)}`);
  };

  /** One server of a target goes from sandbox to sandbox, or changes where it is. */
  const roam = (target: ScenarioTarget, own: Dice): void => {
    time.setTimer((0.5 + own.random() * 8) * intervalMs, () => {
      if (isCalm) return;
      const boxes = [...target.sandboxes.keys()];
      const to = boxes[own.between(0, boxes.length - 1)];
      const status = own.pick(["error", "error", "idle", "occupied"]);
      for (const box of boxes) {
        change(nameOf(target, box, roamer), target.name, box === to ? status : absent);
      }
      roam(target, own);
    });
  };

  const live = (name: string, target: string, own: Dice): void => {
    const stay = own.pick([
      [0.1, 1.2],
      [1, 4],
      [4, 12],
      [10, 40],
    ]);
    const [least = 0, most = 0] = stay;
    const stayMs = (least + own.random() * (most - least)) * intervalMs;
    time.setTimer(stayMs, () => {
      if (isCalm) return;
      change(name, target, own.pick(["idle", ...choices]));
      rename(name);
      live(name, target, own);
    });
  };

  const eachServer = (visit: (name: string, target: ScenarioTarget) => void): void => {
    for (const target of targets) {
      for (const [box, servers] of target.sandboxes) {
        for (const server of servers) visit(nameOf(target, box, server), target);
      }
    }
  };

  const listing = (target: ScenarioTarget, oddity: Oddity | null = null) => {
    const inPart = oddity === "in_part";
    const boxes = [...target.sandboxes];
    const hidden = inPart ? dice.between(0, boxes.length - 1) : -1;
    const listed = boxes.flatMap(([box, servers], at) => {
      if (at === hidden) return [];
      const items = servers.flatMap((id) => {
        const status = statuses.get(nameOf(target, box, id)) ?? absent;
        if (status === absent) return [];
        const told = status === "odd" ? dice.pick([null, "resting"]) : status;
        const name = names.get(nameOf(target, box, id)) ?? `tool-${id}`;
        return [{ id, server_name: name, status: told, benchmark: null, tags: [] }];
      });
      return [{ local_sandbox_id: box, created_at: createdAt, servers: items }];
    });
    const items: unknown[] = listed;
    if (oddity === "item") {
      const [at, odd] = [dice.between(0, items.length), dice.pick(oddItems)];
      const id = oddities.pick(oddIds);
      const box = oddities.pick([null, null, ...listed]);
      if (oddities.chance(0.5)) items.splice(at, 0, odd);
      else if (box === null) items.splice(at, 0, sandbox(id));
      else box.servers.push({ id, server_name: "odd", status: "error", benchmark: null, tags: [] });
    }
    const text = JSON.stringify({ local_sandboxes: items, total_count: boxes.length });
    if (oddity !== "count") return text;
    return text.replace(/,"total_count":\d+\}$/, dice.pick(oddCounts));
  };

  const answer = (
    status: number,
    text: string,
    more: Partial<Extract<Reaction, { kind: "answers" }>> = {},
  ): Reaction => ({
    kind: "answers",
    afterMs: dice.between(5, 400),
    status,
    chunks: pieces(Buffer.from(text), dice),
    chunkMs: dice.between(0, 60),
    ...more,
  });

  const list = (target: ScenarioTarget, oddity: Oddity | null, slow: boolean): Reaction => {
    const onWhole = (): void => {
      if (changed.delete(target.name)) deps.onNews();
      trace.mark(`${target.name} was seen`);
    };
    // Slow can be too slow.
    const afterMs = slow ? dice.between(2_000, 12_000) : dice.between(5, 400);
    return answer(200, listing(target, oddity), { afterMs, onWhole });
  };

  const spoil = (target: ScenarioTarget, trouble: ServiceTrouble): Reaction => {
    const afterMs = dice.between(1, 800);
    switch (trouble) {
      case "refuses":
        return { kind: "breaks", afterMs, code: "ECONNREFUSED" };
      case "breaks":
        return { kind: "breaks", afterMs, code: "ECONNRESET" };
      case "breaks_in_the_body":
        return answer(200, listing(target), { breaksAfter: 1 });
      case "hangs":
        return { kind: "hangs" };
      case "fails":
        return answer(dice.pick([500, 502, 404]), "");
      case "asks_for_patience":
        return answer(503, "", { headers: { "retry-after": String(dice.between(1, 900)) } });
      case "limits":
        return answer(429, "", { headers: { "retry-after": String(dice.between(1, 120)) } });
      case "rejects_the_key":
        return answer(dice.pick([401, 401, 403]), "");
      case "talks_nonsense":
        return answer(200, "<html>maintenance</html>");
      case "forgets_a_field":
        return answer(200, JSON.stringify({ total_count: 0 }));
      case "lists_in_part":
        return list(target, "in_part", false);
      case "counts_oddly":
        return list(target, "count", false);
      case "lists_oddly":
        return list(target, "item", false);
      case "is_slow":
        return list(target, null, true);
    }
  };

  const operate = createScriptedOperations(dice.fork("operations"));
  /** What is wrong with listings alone leaves the other operations as they are. */
  const perform = (
    target: ScenarioTarget,
    operation: ProbedOperation,
    trouble: ServiceTrouble | null,
  ): Reaction => {
    if (trouble !== null && troublesOfAll.has(trouble)) return spoil(target, trouble);
    const { status, text, headers } = operate(target.name, operation, isCalm);
    return answer(status, text, { headers });
  };

  const receive = (region: string, request: VirtualRequest): Reaction => {
    const target = targets.find(
      (each) =>
        each.region === region &&
        request.headers["authorization"] === `Bearer ${apiKeyOf(each.key)}`,
    );
    const probe = scenario.probes.find(({ path }) => path === request.path);
    if (!target || (!probe && request.path !== "/local-sandbox")) return answer(401, "");
    const present = troubles.get(region);
    const trouble = present && dice.chance(present.chance) ? present.trouble : null;
    const respond = (): Reaction => {
      if (probe) return perform(target, probe.operation, trouble);
      return trouble === null ? list(target, null, false) : spoil(target, trouble);
    };
    const plain = respond();
    const reaction = scenario.service.encodes ? encode(plain, request, encoding) : plain;
    requests.push({
      target: target.name,
      key: target.key,
      path: request.path,
      life: request.sender,
      atMs: time.nowMs,
      answer: sentAnswer(reaction),
      exchange: request.exchange,
    });
    trace.mark(`${target.name} was asked for: ${trouble ?? "all is well"}`);
    if (probe) trace.tell(`${probe.name} of ${target.name} is answered ${toldOf(reaction)}`);
    return reaction;
  };

  return {
    requests,
    peers: [...new Set(targets.map(({ region }) => region))].map((region) => ({
      origin: serviceOrigin(region),
      receive: (request) => receive(region, request),
    })),
    begin() {
      for (const target of scenario.service.moves ? targets : []) {
        roam(target, dice.fork(`roam ${target.name}`));
      }
      eachServer((name, target) => {
        if (name.endsWith(roamer)) return;
        statuses.set(name, dice.pick(["idle", "idle", "occupied", "error", absent]));
        trace.tell(`${name} is ${statuses.get(name)}`);
        live(name, target.name, dice.fork(name));
      });
    },
    trouble(region, trouble, chance) {
      troubles.set(region, { trouble, chance });
      trace.tell(`the service in ${region} ${trouble} in ${Math.round(chance * 100)}% of answers`);
    },
    heal(region) {
      if (troubles.delete(region)) trace.tell(`the service in ${region} is well again`);
    },
    calm() {
      isCalm = true;
      for (const region of troubles.keys()) this.heal(region);
      eachServer((name, { name: target }) => {
        if (!name.endsWith(roamer) && dice.chance(0.8)) change(name, target, "occupied");
      });
    },
  };
}

function toldOf(reaction: Reaction): string {
  return reaction.kind === "answers" ? String(reaction.status) : reaction.kind;
}

function sentAnswer(reaction: Reaction): ServiceRequest["answer"] {
  if (reaction.kind !== "answers") return null;
  const { status, headers = {}, chunks } = reaction;
  return { status, headers, body: Buffer.concat(chunks.map((chunk) => Buffer.from(chunk))) };
}
