import { apiKeyOf, serviceOrigin } from "../scenario.ts";
import type { Scenario, ScenarioTarget } from "../scenario.ts";
import type { ServiceRequest } from "../history.ts";
import type { Dice } from "./dice.ts";
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
  "is_slow",
] as const;
export type ServiceTrouble = (typeof serviceTroubles)[number];

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

export function createScriptedService(deps: ScriptedServiceDeps): ScriptedService {
  const { scenario, time, dice, trace } = deps;
  const { intervalMs, targets } = scenario;
  const requests: ServiceRequest[] = [];
  const troubles = new Map<string, { readonly trouble: ServiceTrouble; readonly chance: number }>();
  /** By target, sandbox and server. */
  const statuses = new Map<string, string>();
  const changed = new Set<string>();
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

  const listing = (target: ScenarioTarget, inPart: boolean) => {
    const boxes = [...target.sandboxes];
    const hidden = inPart ? dice.between(0, boxes.length - 1) : -1;
    const listed = boxes.flatMap(([box, servers], at) => {
      if (at === hidden) return [];
      const items = servers.flatMap((id) => {
        const status = statuses.get(nameOf(target, box, id)) ?? absent;
        if (status === absent) return [];
        const told = status === "odd" ? dice.pick([null, "resting"]) : status;
        return [{ id, server_name: `tool-${id}`, status: told, benchmark: null, tags: [] }];
      });
      return [{ local_sandbox_id: box, created_at: "2026-11-20T09:30:00Z", servers: items }];
    });
    return JSON.stringify({ local_sandboxes: listed, total_count: boxes.length });
  };

  const answer = (
    status: number,
    text: string,
    more: Partial<Extract<Reaction, { kind: "answers" }>> = {},
  ): Reaction => ({
    kind: "answers",
    afterMs: dice.between(5, 400),
    status,
    chunks: pieces(text, dice),
    chunkMs: dice.between(0, 60),
    ...more,
  });

  const list = (target: ScenarioTarget, inPart: boolean, slow: boolean): Reaction => {
    const onWhole = (): void => {
      if (changed.delete(target.name)) deps.onNews();
      trace.mark(`${target.name} was seen`);
    };
    // Slow can be too slow.
    const afterMs = slow ? dice.between(2_000, 12_000) : dice.between(5, 400);
    return answer(200, listing(target, inPart), { afterMs, onWhole });
  };

  const spoil = (target: ScenarioTarget, trouble: ServiceTrouble): Reaction => {
    const afterMs = dice.between(1, 800);
    switch (trouble) {
      case "refuses":
        return { kind: "breaks", afterMs, code: "ECONNREFUSED" };
      case "breaks":
        return { kind: "breaks", afterMs, code: "ECONNRESET" };
      case "breaks_in_the_body":
        return answer(200, listing(target, false), { breaksAfter: 1 });
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
        return list(target, true, false);
      case "is_slow":
        return list(target, false, true);
    }
  };

  const receive = (region: string, request: VirtualRequest): Reaction => {
    const target = targets.find(
      (each) =>
        each.region === region &&
        request.headers["authorization"] === `Bearer ${apiKeyOf(each.key)}`,
    );
    if (!target || request.path !== "/local-sandbox") return answer(401, "");
    const present = troubles.get(region);
    const trouble = present && dice.chance(present.chance) ? present.trouble : null;
    const reaction = trouble === null ? list(target, false, false) : spoil(target, trouble);
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
    return reaction;
  };

  return {
    requests,
    peers: [...new Set(targets.map(({ region }) => region))].map((region) => ({
      origin: serviceOrigin(region),
      receive: (request) => receive(region, request),
    })),
    begin() {
      eachServer((name, target) => {
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
        if (dice.chance(0.8)) change(name, target, "occupied");
      });
    },
  };
}

function sentAnswer(reaction: Reaction): ServiceRequest["answer"] {
  if (reaction.kind !== "answers") return null;
  const { status, headers = {}, chunks } = reaction;
  return { status, headers, body: Buffer.concat(chunks.map((chunk) => Buffer.from(chunk))) };
}

function pieces(text: string, dice: Dice): readonly string[] {
  if (text === "") return [];
  const cut = dice.between(1, text.length);
  return [text.slice(0, cut), text.slice(cut)].filter((piece) => piece !== "");
}
