import type { Dice } from "../draw/dice.ts";
import type { ScenarioTarget } from "../scenario.ts";
import type { World } from "./world.ts";

/** A sandbox as the service lists it. */
export interface ListedBox {
  local_sandbox_id: string;
  created_at: string;
  /** Absent: it is not stated. */
  status?: string | null | undefined;
  servers: ListedServer[];
}

interface ListedServer {
  id: string;
  server_name: string;
  status?: string | null | undefined;
  benchmark: string | null;
  tags: readonly string[];
}

const choices = ["error", "error", "error", "idle", "idle", "occupied", "odd", "gone"] as const;
type Shown = (typeof choices)[number];

/** `follows`: it states the worst that its servers are; `states`: a status of its own; `silent`: none. */
const manners = ["follows", "states", "silent"] as const;

/** How long a sandbox shows one thing, in intervals. */
const dwells = [
  [0.1, 2],
  [1, 6],
  [5, 20],
] as const;

interface Box {
  readonly name: string;
  readonly target: string;
  manner: (typeof manners)[number];
  status: Shown;
  /** What states no status for a while: the sandbox itself, or some of its servers. */
  mute: ReadonlySet<string>;
}

/** Of the servers: they state no status at first. */
const shyShare = 0.25;

/**
 * Sandboxes that state a status, their servers beside them or in their place, contradict them, state none for a while
 * or for ever, are listed twice, have no servers, or go and come back.
 */
export function createScriptedSandboxes(
  world: World,
  dice: Dice,
  onError: (target: string) => void,
) {
  const { scenario, time } = world;
  const { intervalMs } = scenario;
  const listing = dice.fork("listing");
  const boxes = new Map<string, Box>();
  /** Servers that have stated nothing so far. */
  const shy = new Set<string>();
  let isCalm = false;

  const show = (box: Box, status: Shown): void => {
    if (box.status === status) return;
    if (box.status === "error" || status === "error") onError(box.target);
    box.status = status;
    world.log(`${box.name} is ${status}`);
  };

  const live = (box: Box, own: Dice): void => {
    const [least, most] = own.pick<readonly [number, number]>(dwells);
    time.setTimer((least + own.random() * (most - least)) * intervalMs, () => {
      if (isCalm) return;
      show(box, own.pick(choices));
      live(box, own);
    });
  };

  /** For a while some states no status, or a sandbox or a server that stated none begins to. */
  const fallSilent = (box: Box, ids: readonly string[], own: Dice): void => {
    time.setTimer((1 + own.random() * 15) * intervalMs, () => {
      if (isCalm) return;
      const isEnd = box.mute.size > 0;
      box.mute = new Set(isEnd ? [] : [box.name, ...ids].filter(() => own.chance(0.5)));
      world.log(`${box.name} keeps silent: ${[...box.mute].join(", ")}`);
      if (box.manner === "silent" && own.chance(0.15)) box.manner = "states";
      for (const id of ids) if (own.chance(0.1)) shy.delete(id);
      fallSilent(box, ids, own);
    });
  };

  const stated = (box: Box, servers: readonly ListedServer[]): string | null | undefined => {
    const isSilent = box.manner === "silent" || box.mute.has(box.name);
    if (isSilent) return listing.pick([null, undefined]);
    if (box.manner === "states") return box.status === "odd" ? "resting" : box.status;
    const shown = ["error", "occupied", "idle"].find((each) =>
      servers.some(({ status }) => status === each),
    );
    return shown ?? "idle";
  };

  const nameOf = (target: ScenarioTarget, box: string): string => `${target.name} ${box}`;

  return {
    begin(): void {
      for (const target of scenario.targets) {
        for (const [id, servers] of target.sandboxes) {
          const name = nameOf(target, id);
          const own = dice.fork(name);
          const manner = servers.length === 0 ? "states" : own.pick(manners);
          const box: Box = { name, target: target.name, manner, status: "idle", mute: new Set() };
          boxes.set(name, box);
          for (const server of servers) if (own.chance(shyShare)) shy.add(`${name} ${server}`);
          show(box, own.pick(choices));
          live(box, own);
          const ids = servers.map((server) => `${name} ${server}`);
          fallSilent(box, ids, own.fork("silence"));
        }
      }
    },
    exists: (target: ScenarioTarget, id: string): boolean =>
      boxes.get(nameOf(target, id))?.status !== "gone",
    /** Sandboxes with these servers as they are listed; perhaps one of them twice. */
    list(target: ScenarioTarget, all: readonly ListedBox[]): ListedBox[] {
      const listed = all.flatMap((each): ListedBox[] => {
        const box = boxes.get(nameOf(target, each.local_sandbox_id));
        if (!box) return [];
        const servers = each.servers.map((server) => {
          const name = `${box.name} ${server.id}`;
          const isSilent = shy.has(name) || box.mute.has(name);
          return isSilent ? { ...server, status: listing.pick([null, undefined]) } : server;
        });
        return [{ ...each, status: stated(box, each.servers), servers }];
      });
      const twice = listing.chance(0.06) ? listed[listing.between(0, listed.length - 1)] : null;
      if (!twice) return listed;
      const status = listing.pick(["error", "idle", "resting", null, undefined]);
      const servers = twice.servers
        .filter(() => listing.chance(0.5))
        .map((server) => ({ ...server, status: listing.pick([server.status, "idle", null]) }));
      return [...listed, { ...twice, status, servers }];
    },
    /** Most state a status that is no trouble; nothing changes after that. */
    calm(): void {
      isCalm = true;
      for (const box of boxes.values()) {
        if (dice.chance(0.8)) {
          box.mute = new Set();
          show(box, "occupied");
        }
      }
    },
  };
}
