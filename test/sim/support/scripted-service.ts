import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import type { Dice } from "../draw/dice.ts";
import type { ServiceRequest } from "../history.ts";
import { apiKeyOf, listingPath, roamer, serviceOrigin, type ScenarioTarget } from "../scenario.ts";
import { createOperations } from "./scripted-operations.ts";
import { createScriptedSandboxes, type ListedBox } from "./scripted-sandboxes.ts";
import { bodyOf } from "./virtual-network.ts";
import type { Answer, Peer, Reaction, VirtualRequest } from "./virtual-network.ts";
import type { World } from "./world.ts";

/** What can be wrong with the service in a region, each for a while. */
export const serviceFaults = [
  "refuses",
  "breaks",
  "breaks_in_the_body",
  "hangs",
  "fails",
  "asks_to_wait",
  "limits",
  "rejects_the_key",
  "talks_nonsense",
  "forgets_a_field",
  "lists_in_part",
  "counts_oddly",
  "lists_oddly",
  "is_slow",
] as const;
type ServiceFault = (typeof serviceFaults)[number];

/** Those that other operations do not have. */
const listingFaults: readonly (ServiceFault | null)[] = [
  "breaks_in_the_body",
  "forgets_a_field",
  "lists_in_part",
  "counts_oddly",
  "lists_oddly",
  "is_slow",
];

const absent = "absent";
const choices = ["error", "error", "error", "error", "idle", "idle", "occupied", "odd", absent];

/** How long a server keeps a status, in intervals. */
const dwells = [
  [0.1, 1.2],
  [1, 4],
  [4, 12],
  [10, 40],
] as const;

type Oddity = "in_part" | "count" | "item";

/** In place of a count that can be read. */
const oddCounts = [
  "}",
  ',"total_count":null}',
  ',"total_count":"2"}',
  ',"total_count":1.5}',
  ',"total_count":1e400}',
] as const;

const created_at = "2026-11-20T09:30:00Z";
const sandbox = (id: string): ListedBox => ({ local_sandbox_id: id, created_at, servers: [] });

/** What cannot be kept: an id that is too long, no id, or no sandbox. */
const oddItems = [sandbox("x".repeat(2_000)), { created_at, servers: [] }, null] as const;

/** Ids just beyond what can be kept, and with a NUL character. */
const oddIds = ["x".repeat(513), "box\0-1", "\0"] as const;

const encoders = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync } as const;

/**
 * A service whose servers change by a script of their own.
 *
 * @param onNews called when a listing was received that shows a server enter or leave `error`
 */
export function createScriptedService(world: World, onNews: () => void) {
  const { scenario, time } = world;
  const { intervalMs, targets } = scenario;
  const dice = world.dice.fork("service");
  const encoding = dice.fork("encoding");
  const oddities = dice.fork("oddities");
  const renaming = dice.fork("renaming");
  const operate = createOperations(dice.fork("operations"));
  const sandboxes = scenario.service.sandboxes
    ? createScriptedSandboxes(world, dice.fork("sandboxes"), (target) => changed.add(target))
    : null;
  const requests: ServiceRequest[] = [];
  const faults = new Map<string, { readonly fault: ServiceFault; readonly chance: number }>();
  /** By target, sandbox and server. */
  const statuses = new Map<string, string>();
  const names = new Map<string, string>();
  /** The targets with news. */
  const changed = new Set<string>();
  let isCalm = false;

  const change = (server: string, target: string, status: string): void => {
    const before = statuses.get(server);
    if (before === status) return;
    statuses.set(server, status);
    if (before === "error" || status === "error") changed.add(target);
    world.log(`${server} is ${status}`);
  };

  const rename = (server: string): void => {
    if (!scenario.service.renames || !renaming.chance(0.15)) return;
    const name = `tool-${renaming.between(1, 3)}`;
    names.set(server, name);
    world.log(`${server} is called ${name}`);
  };

  const serverOf = ({ name }: ScenarioTarget, box: string, id: string): string =>
    `${name} ${box} ${id}`;

  /** One server of a target moves from sandbox to sandbox, or changes where it is. */
  const roam = (target: ScenarioTarget, own: Dice): void => {
    time.setTimer((0.5 + own.random() * 8) * intervalMs, () => {
      if (isCalm) return;
      const boxes = [...target.sandboxes.keys()];
      const to = boxes[own.between(0, boxes.length - 1)];
      const status = own.pick(["error", "error", "idle", "occupied"]);
      for (const box of boxes) {
        change(serverOf(target, box, roamer), target.name, box === to ? status : absent);
      }
      roam(target, own);
    });
  };

  const live = (server: string, target: string, own: Dice): void => {
    const [least, most] = own.pick<readonly [number, number]>(dwells);
    time.setTimer((least + own.random() * (most - least)) * intervalMs, () => {
      if (isCalm) return;
      change(server, target, own.pick(["idle", ...choices]));
      rename(server);
      live(server, target, own);
    });
  };

  /** Those that do not move. */
  const servers = targets.flatMap((target) =>
    Array.from(target.sandboxes).flatMap(([box, ids]) =>
      ids
        .filter((id) => id !== roamer)
        .map((id) => ({ server: serverOf(target, box, id), target: target.name })),
    ),
  );

  const listing = (target: ScenarioTarget, oddity: Oddity | null = null): string => {
    const boxes = Array.from(target.sandboxes).filter(
      ([box]) => sandboxes?.exists(target, box) ?? true,
    );
    const hidden = oddity === "in_part" ? dice.between(0, boxes.length - 1) : -1;
    const shown = boxes.flatMap(([box, ids], at): ListedBox[] => {
      if (at === hidden) return [];
      const items = ids.flatMap((id) => {
        const server = serverOf(target, box, id);
        const real = statuses.get(server) ?? absent;
        if (real === absent) return [];
        const status = real === "odd" ? dice.pick([null, "resting"]) : real;
        const server_name = names.get(server) ?? `tool-${id}`;
        return [{ id, server_name, status, benchmark: null, tags: [] }];
      });
      return [{ local_sandbox_id: box, created_at, servers: items }];
    });
    const listed = sandboxes?.list(target, shown) ?? shown;
    const items: unknown[] = [...listed];
    if (oddity === "item") {
      const [at, odd] = [dice.between(0, items.length), dice.pick<unknown>(oddItems)];
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

  const answer = (status: number, text: string, more: Partial<Answer> = {}): Reaction => ({
    kind: "answers",
    afterMs: dice.between(5, 400),
    status,
    chunks: pieces(Buffer.from(text), dice),
    chunkMs: dice.between(0, 60),
    ...more,
  });

  const list = (target: ScenarioTarget, oddity: Oddity | null = null, isSlow = false): Reaction => {
    const onWhole = (): void => {
      if (changed.delete(target.name)) onNews();
      world.note(`the listing of ${target.name} was received`);
    };
    // Slow can be too slow.
    const afterMs = isSlow ? dice.between(2_000, 12_000) : dice.between(5, 400);
    return answer(200, listing(target, oddity), { afterMs, onWhole });
  };

  const fail = (target: ScenarioTarget, fault: ServiceFault): Reaction => {
    const afterMs = dice.between(1, 800);
    const waiting = (longest: number) => ({
      headers: { "retry-after": String(dice.between(1, longest)) },
    });
    switch (fault) {
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
      case "asks_to_wait":
        return answer(503, "", waiting(900));
      case "limits":
        return answer(429, "", waiting(120));
      case "rejects_the_key":
        return answer(dice.pick([401, 401, 403]), "");
      case "talks_nonsense":
        return answer(200, "<html>maintenance</html>");
      case "forgets_a_field":
        return answer(200, JSON.stringify({ total_count: 0 }));
      case "lists_in_part":
        return list(target, "in_part");
      case "counts_oddly":
        return list(target, "count");
      case "lists_oddly":
        return list(target, "item");
      case "is_slow":
        return list(target, null, true);
    }
  };

  const receive = (region: string, request: VirtualRequest): Reaction => {
    const target = targets.find(
      (each) =>
        each.region === region &&
        request.headers["authorization"] === `Bearer ${apiKeyOf(each.key)}`,
    );
    const probe = scenario.probes.find(({ path }) => path === request.path);
    if (!target || (!probe && request.path !== listingPath)) return answer(401, "");
    const present = faults.get(region) ?? faults.get(target.key);
    const fault = present && dice.chance(present.chance) ? present.fault : null;
    const respond = (): Reaction => {
      if (fault !== null && !(probe && listingFaults.includes(fault))) return fail(target, fault);
      if (!probe) return list(target);
      const { status, text, headers = {} } = operate(target.name, probe.operation, isCalm);
      return answer(status, text, { headers });
    };
    const plain = respond();
    const reaction = scenario.service.encodes ? encode(plain, request, encoding) : plain;
    const { sender: life, path, exchange } = request;
    const { name, key } = target;
    const sent = reaction.kind === "answers" ? sentAnswer(reaction) : null;
    requests.push({ target: name, key, path, life, atMs: time.nowMs, answer: sent, exchange });
    world.note(`${name} was asked for: ${fault ?? "no fault"}`);
    if (probe) world.log(`${probe.name} of ${name} is answered ${sent?.status ?? reaction.kind}`);
    return reaction;
  };

  const recover = (where: string): void => {
    if (faults.delete(where)) world.log(`the service for ${where} is well again`);
  };

  const regions = new Set(targets.map(({ region }) => region));
  return {
    requests,
    peers: Array.from(regions, (region): Peer => ({
      origin: serviceOrigin(region),
      receive: (request) => receive(region, request),
    })),
    /** Lets the servers begin to change. */
    begin(): void {
      for (const target of scenario.service.moves ? targets : []) {
        roam(target, dice.fork(`roam ${target.name}`));
      }
      for (const { server, target } of servers) {
        statuses.set(server, dice.pick(["idle", "idle", "occupied", "error", absent]));
        world.log(`${server} is ${statuses.get(server)}`);
        live(server, target, dice.fork(server));
      }
      sandboxes?.begin();
    },
    /** @param where a region, or a key in all regions */
    fail(where: string, fault: ServiceFault, chance: number): void {
      faults.set(where, { fault, chance });
      world.log(`the service for ${where} ${fault} in ${Math.round(chance * 100)}% of answers`);
    },
    recover,
    /** Most servers become occupied, the others stay as they are; nothing changes after that. */
    calm(): void {
      isCalm = true;
      for (const where of faults.keys()) recover(where);
      for (const { server, target } of servers) {
        if (dice.chance(0.8)) change(server, target, "occupied");
      }
      sandboxes?.calm();
    },
  };
}

function sentAnswer(answer: Answer): ServiceRequest["answer"] {
  return { status: answer.status, headers: answer.headers ?? {}, body: bodyOf(answer) };
}

/** In one or two pieces, as a network delivers them. */
function pieces(body: Uint8Array, dice: Dice): readonly Uint8Array[] {
  if (body.length === 0) return [];
  const cut = dice.between(1, body.length);
  return [body.subarray(0, cut), body.subarray(cut)].filter((piece) => piece.length > 0);
}

/** The same answer, in an encoding that the request accepts. */
function encode(reaction: Reaction, request: VirtualRequest, dice: Dice): Reaction {
  if (reaction.kind !== "answers" || reaction.chunks.length === 0) return reaction;
  const encoding = dice.pick(["gzip", "br", "deflate"] as const);
  const accepted = request.headers["accept-encoding"] ?? "";
  if (!accepted.split(/, */).includes(encoding) || dice.chance(0.2)) return reaction;
  const headers = { ...reaction.headers, "content-encoding": encoding };
  return { ...reaction, headers, chunks: pieces(encoders[encoding](bodyOf(reaction)), dice) };
}
