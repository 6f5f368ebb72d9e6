import { Buffer } from "node:buffer";
import { seededRandom } from "../../../src/lib/random.ts";

/**
 * Sequences of bodies as some service might send them, poll after poll: mostly what was sent before, and now and then
 * anything that JSON, HTTP or a careless program can make of a listing.
 */

export interface RandomPoll {
  readonly body: Buffer;
  readonly waitMs: number;
  readonly momentKnown: boolean;
  /** The state that this poll leads to is dropped, as when it could not be committed. */
  readonly isDropped: boolean;
  /** Before it the program was started again. */
  readonly isRestarted: boolean;
}

export interface RandomSequence {
  readonly goneAfter: number;
  readonly polls: readonly RandomPoll[];
}

export function randomSequence(seed: number, maxPolls: number): RandomSequence {
  const dice = createDice(seed);
  const { below, chance, pick } = dice;
  const world = createRandomWorld(dice);
  const goneAfter = 1 + below(3);
  const polls = Array.from({ length: 2 + below(maxPolls - 1) }, (_, at): RandomPoll => {
    if (at > 0) world.edit(pick([0, 0, 1, 1, 1, 2, 3]));
    return {
      body: world.body(),
      waitMs: pick([0, 30_000, 30_000.25]),
      momentKnown: chance(0.7),
      isDropped: chance(0.05),
      isRestarted: chance(0.04),
    };
  });
  return { goneAfter, polls };
}

/** Random choices, which one seed replays. */
function createDice(seed: number) {
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  return {
    below,
    chance: (share: number): boolean => random() < share,
    pick<Value>(this: void, values: readonly Value[]): Value {
      const value = values[below(values.length)];
      if (value === undefined) throw new RangeError("there must be something to pick");
      return value;
    },
  };
}

type Raw = null | boolean | number | string | readonly Raw[] | RawObject;
interface RawObject {
  readonly [field: string]: Raw | undefined;
}

const time = "2026-02-16T12:45:25.770231-08:00";
const oddTexts = [
  "}",
  "]}",
  '},{"local_sandbox_id":',
  '"},{"id":"',
  "\\",
  '"',
  "é沙箱",
  "\u{1f600}",
  "\ufeff",
  "\ufffd",
  "a\ud800b",
  "__proto__",
  "constructor",
  "x".repeat(300),
];
const oddIds = [null, "", 7, "i".repeat(513), "a\u0000b"];
const statuses = ["idle", "occupied", "error", null, "resting", 7];
const names = ["github", "git", "cal.com", "", null, ...oddTexts];

function createRandomWorld({ below, chance, pick }: ReturnType<typeof createDice>) {
  const isSpaced = chance(0.2);
  const space = isSpaced ? "\n  " : "";
  /** The same object is written in the same way each time. */
  let texts = new Map<Raw, string>();
  let edits = 0;

  const odd = (depth: number): Raw => {
    if (depth === 0 || chance(0.4)) return pick<Raw>([null, true, 1.5e3, ...oddTexts]);
    if (chance(0.5)) return [odd(depth - 1), odd(depth - 1)];
    return { [pick(["status", "a", "}"])]: odd(depth - 1), b: odd(depth - 1) };
  };

  const newServer = (): Raw => {
    const ids = { id: chance(0.05) ? pick(oddTexts) : `v${below(6)}`, status: pick(statuses) };
    if (chance(0.2)) return ids;
    return {
      ...ids,
      server_name: pick(names),
      mcp_server_url: "https://host/github/mcp/?token=t",
      benchmark: chance(0.9) ? null : pick(names),
      updated_at: time,
      metadata: chance(0.9) ? null : odd(3),
      auth_data: null,
      tags: chance(0.8) ? null : ["prod", pick(oddTexts)],
    };
  };

  const newSandbox = (id: Raw = `s${below(12)}`): RawObject => ({
    local_sandbox_id: chance(0.1) && id !== null ? pick(oddTexts) : id,
    created_at: time,
    status: pick(statuses),
    benchmark: chance(0.8) ? null : pick(names),
    servers: Array.from({ length: below(5) }, newServer),
  });

  let sandboxes: readonly Raw[] = Array.from({ length: below(8) }, (_, at) => newSandbox(`s${at}`));

  const changed = (sandbox: Raw | undefined): Raw => {
    if (!isRaw(sandbox)) return newSandbox();
    const servers = serversOf(sandbox);
    const at = below(Math.max(1, servers.length));
    const withServer = (edit: RawObject): Raw => {
      const server = servers[at];
      return isRaw(server)
        ? { ...sandbox, servers: servers.with(at, { ...server, ...edit }) }
        : sandbox;
    };
    const withStatus = (): Raw => withServer({ status: pick(statuses) });
    return pick<() => Raw>([
      () => ({ ...sandbox, status: pick(statuses) }),
      () => ({ ...sandbox, benchmark: pick(names) }),
      () => ({ ...sandbox, servers: servers.toReversed() }),
      () => ({ ...sandbox, servers: servers.toSpliced(at, 1) }),
      () => ({ ...sandbox, servers: [...servers, newServer()] }),
      () => ({ ...sandbox, servers: pick<Raw>([servers, null, {}, [], [null, ...servers]]) }),
      () => withServer({ server_name: pick(names) }),
      () => withServer({ tags: pick<Raw>([[], ["a"], ["b"], ["a", "b"], [7, "a"], "a"]) }),
      () => withServer({ metadata: odd(3), [`odd${below(3)}`]: odd(1) }),
      () => withServer({ id: pick(oddIds) }),
      withStatus,
      withStatus,
      withStatus,
    ])();
  };

  /** Another time of update, which nothing is made of. */
  const touched = (sandbox: Raw): Raw => {
    if (!isRaw(sandbox) || !Array.isArray(sandbox["servers"])) return sandbox;
    const updated_at = time.replace("770231", String(edits).padStart(6, "0"));
    const servers = serversOf(sandbox).map((each) =>
      isRaw(each) ? { ...each, updated_at } : each,
    );
    return { ...sandbox, servers };
  };

  /** Moves a server of one sandbox to another one. */
  const withMoved = (list: readonly Raw[]): readonly Raw[] => {
    const [from, to] = [below(list.length), below(list.length)];
    const [source, target] = [list[from], list[to]];
    if (!isRaw(source) || !isRaw(target) || from === to) return list;
    const [moved, ...rest] = serversOf(source);
    if (moved === undefined) return list;
    const servers = [...serversOf(target), moved];
    return list.with(from, { ...source, servers: rest }).with(to, { ...target, servers });
  };

  const edited = (list: readonly Raw[]): readonly Raw[] => {
    const at = below(Math.max(1, list.length));
    const each = list[at];
    const insert = (raw: Raw): readonly Raw[] => list.toSpliced(below(list.length + 1), 0, raw);
    const change = (): readonly Raw[] => (each === undefined ? list : list.with(at, changed(each)));
    return pick<() => readonly Raw[]>([
      () => insert(newSandbox()),
      () => list.toSpliced(at, 1 + below(2)),
      () => list.toReversed(),
      () =>
        each === undefined ? list : list.toSpliced(at, 1).toSpliced(below(list.length), 0, each),
      () => list.toSorted(() => below(3) - 1),
      () => withMoved(list),
      // The same sandbox once more, as it is or otherwise.
      () => (each === undefined ? list : insert(chance(0.5) ? each : changed(each))),
      () => insert(pick<Raw>([null, 7, "text", [], [[1]], {}, newSandbox(pick(oddIds))])),
      // All written otherwise, though they say the same.
      () => ((texts = new Map()), list),
      () => list.map(touched),
      ...Array.from({ length: 6 }, () => change),
    ])();
  };

  const write = (raw: Raw): string => {
    const gap = isSpaced || chance(0.02) ? pick([" ", "\t", "\r\n  ", ""]) : "";
    if (typeof raw === "string" && chance(0.03)) return escaped(raw);
    if (typeof raw === "number" && chance(0.05)) return "1e400";
    if (Array.isArray(raw)) return `[${gap}${raw.map(write).join(`${gap},${gap}`)}]`;
    if (!isRaw(raw)) return JSON.stringify(raw);
    const fields = Object.entries(raw).map(
      ([name, value]) => `${JSON.stringify(name)}:${gap}${write(value ?? null)}`,
    );
    // A field that is there twice: the last one counts.
    if (chance(0.02) && fields[0] !== undefined) fields.push(fields[0]);
    if (chance(0.02)) fields.push(`"__proto__":{"id":"v1"}`);
    return `{${gap}${fields.join(`${gap},${gap}`)}}`;
  };
  const textOf = (raw: Raw): string => {
    const text = texts.get(raw) ?? write(raw);
    texts.set(raw, text);
    return text;
  };

  const total = (): string => {
    if (chance(0.1)) return pick(["0", "-0", "1", "3", "1e2", "123456789012345678901"]);
    if (chance(0.05)) return pick(["null", '"1"', "1.5", "1e400", "[]", ""]);
    return String(new Set(sandboxes.map((each, at) => idOf(each) ?? `#${at}`)).size);
  };

  const damaged = (body: Buffer): Buffer => {
    const at = below(body.length + 1);
    if (chance(0.4)) return body.subarray(0, at);
    const byte = pick([...Buffer.from('{}[]",:\\ \n0e-t\u00e9'), 0xff, 0x00, 0x80]);
    return Buffer.from([...body].toSpliced(at, below(3), ...(chance(0.7) ? [byte] : [])));
  };

  return {
    edit(times: number): void {
      edits++;
      for (let left = times; left > 0; left--) sandboxes = edited(sandboxes);
    },
    body(): Buffer {
      const items = sandboxes.map(textOf);
      const list = (of: readonly string[]): string =>
        `[${space}${of.join(`${space},${space}`)}${space}]`;
      const name = chance(0.03) ? '"local\\u005fsandboxes"' : '"local_sandboxes"';
      const fields = [`${name}:${list(items)}`];
      const add = (field: string): void => void fields.splice(below(3), 0, field);
      const count = total();
      if (count !== "") add(`"total_count":${space}${count}`);
      if (chance(0.05)) add(`"extra":${write(odd(3))}`);
      if (chance(0.03)) add(`"__proto__":{"a":[1]}`);
      if (chance(0.04)) {
        const other = pick([list(items.slice(1)), list([]), "null", "[1]", '"x"']);
        add(`"local_sandboxes":${other}`);
      }
      const mark = chance(0.05) ? "\u{feff}" : "";
      const body = Buffer.from(`${mark}${space}{${fields.join(`${space},`)}}${space}`);
      return chance(0.06) ? damaged(body) : body;
    },
  };
}

function idOf(raw: Raw): string | null {
  const id = isRaw(raw) ? raw["local_sandbox_id"] : null;
  const isKept = typeof id === "string" && id !== "" && id.length <= 512 && !id.includes("\0");
  return isKept && isRaw(raw) && Array.isArray(raw["servers"]) ? id.toWellFormed() : null;
}

function serversOf(sandbox: RawObject): readonly Raw[] {
  const servers = sandbox["servers"];
  return Array.isArray(servers) ? servers : [];
}

function isRaw(value: Raw | undefined): value is RawObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function escaped(text: string): string {
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("")}"`;
}
