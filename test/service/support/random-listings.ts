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

/** Random choices, which one seed replays. */
class Dice {
  private readonly random: () => number;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  chance(share: number): boolean {
    return this.random() < share;
  }

  pick<Value>(values: readonly Value[]): Value {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new RangeError("there must be something to pick");
    return value;
  }
}

type Raw = null | boolean | number | string | readonly Raw[] | RawObject;
interface RawObject {
  readonly [field: string]: Raw | undefined;
}

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
const statuses = ["idle", "occupied", "error", null, "resting", 7] as const;
const names = ["github", "git", "cal.com", "", null, ...oddTexts];

export function randomSequence(seed: number, maxPolls: number): RandomSequence {
  const dice = new Dice(seed);
  const world = new RandomWorld(dice);
  const goneAfter = 1 + dice.below(3);
  const polls: RandomPoll[] = [];
  for (let count = 2 + dice.below(maxPolls - 1); count > 0; count--) {
    if (polls.length > 0) world.edit();
    polls.push({
      body: world.body(),
      waitMs: dice.pick([0, 30_000, 30_000.25]),
      momentKnown: dice.chance(0.7),
      isDropped: dice.chance(0.05),
      isRestarted: dice.chance(0.04),
    });
  }
  return { goneAfter, polls };
}

class RandomWorld {
  private readonly dice: Dice;
  private sandboxes: readonly Raw[];
  private texts = new Map<Raw, string>();
  private readonly isSpaced: boolean;
  private step = 0;

  constructor(dice: Dice) {
    this.dice = dice;
    this.isSpaced = dice.chance(0.2);
    this.sandboxes = Array.from({ length: dice.below(8) }, (_, at) => this.sandbox(`s${at}`));
  }

  edit(): void {
    const { dice } = this;
    this.step++;
    for (let edits = dice.pick([0, 0, 1, 1, 1, 2, 3]); edits > 0; edits--) this.editOnce();
  }

  body(): Buffer {
    const { dice } = this;
    const items = this.sandboxes.map((each) => this.textOf(each));
    const space = this.isSpaced ? "\n  " : "";
    const list = (texts: readonly string[]): string =>
      `[${space}${texts.join(`${space},${space}`)}${space}]`;
    const name = dice.chance(0.03) ? '"local\\u005fsandboxes"' : '"local_sandboxes"';
    const fields = [`${name}:${list(items)}`];
    const total = this.total();
    if (total !== null) fields.splice(dice.below(2), 0, `"total_count":${space}${total}`);
    if (dice.chance(0.05)) fields.splice(dice.below(3), 0, `"extra":${this.text(this.odd(3))}`);
    if (dice.chance(0.03)) fields.splice(dice.below(3), 0, `"__proto__":{"a":[1]}`);
    if (dice.chance(0.04)) {
      const other = dice.pick([list(items.slice(1)), list([]), "null", "[1]", '"x"']);
      fields.splice(dice.below(3), 0, `"local_sandboxes":${other}`);
    }
    const mark = dice.chance(0.05) ? "\u{feff}" : "";
    const body = Buffer.from(`${mark}${space}{${fields.join(`${space},`)}}${space}`);
    return dice.chance(0.06) ? this.damage(body) : body;
  }

  private total(): string | null {
    const { dice } = this;
    const ids = new Set(this.sandboxes.map((each, at) => idOf(each) ?? `#${at}`));
    if (dice.chance(0.1)) return dice.pick(["0", "-0", "1", "3", "1e2", "123456789012345678901"]);
    if (dice.chance(0.05)) {
      return dice.pick(["null", '"1"', "1.5", "1e400", "[]", null]);
    }
    return String(ids.size);
  }

  private editOnce(): void {
    const { dice } = this;
    const list = [...this.sandboxes];
    const at = dice.below(Math.max(1, list.length));
    switch (dice.below(16)) {
      case 0:
        list.splice(at, 0, this.sandbox(`s${dice.below(12)}`));
        break;
      case 1:
        list.splice(at, 1 + dice.below(2));
        break;
      case 2:
        list.reverse();
        break;
      case 3: {
        const [moved] = list.splice(at, 1);
        if (moved !== undefined) list.splice(dice.below(list.length + 1), 0, moved);
        break;
      }
      case 4:
        list.splice(0, list.length, ...list.toSorted(() => dice.below(3) - 1));
        break;
      case 5:
        this.moveServer(list);
        break;
      case 6:
        // The same sandbox once more, as it is or otherwise.
        if (list[at] !== undefined) {
          const again = dice.chance(0.5) ? list[at] : this.changed(list[at]);
          list.splice(dice.below(list.length + 1), 0, again);
        }
        break;
      case 7:
        list.splice(at, 0, dice.pick<Raw>([null, 7, "text", [], [[1]], {}, this.unkeepable()]));
        break;
      case 8:
        // All written otherwise, though they say the same.
        this.texts = new Map();
        break;
      case 9:
        list.splice(0, list.length, ...list.map((each) => this.touched(each)));
        break;
      default:
        if (list[at] !== undefined) list[at] = this.changed(list[at]);
    }
    this.sandboxes = list;
  }

  private moveServer(list: Raw[]): void {
    const { dice } = this;
    const [from, to] = [dice.below(list.length), dice.below(list.length)];
    const [source, target] = [list[from], list[to]];
    if (!isRaw(source) || !isRaw(target) || from === to) return;
    const [moved, ...rest] = serversOf(source);
    if (moved === undefined) return;
    list[from] = { ...source, servers: rest };
    list[to] = { ...target, servers: [...serversOf(target), moved] };
  }

  private changed(sandbox: Raw): Raw {
    const { dice } = this;
    if (!isRaw(sandbox)) return this.sandbox(`s${dice.below(12)}`);
    const servers = serversOf(sandbox);
    const at = dice.below(Math.max(1, servers.length));
    const server = servers[at];
    const withServer = (edit: RawObject): Raw =>
      isRaw(server) ? { ...sandbox, servers: servers.with(at, { ...server, ...edit }) } : sandbox;
    switch (dice.below(13)) {
      case 0:
        return { ...sandbox, status: dice.pick(statuses) };
      case 1:
        return { ...sandbox, benchmark: dice.pick(names) };
      case 2:
        return { ...sandbox, servers: servers.toReversed() };
      case 3:
        return { ...sandbox, servers: servers.toSpliced(at, 1) };
      case 4:
        return { ...sandbox, servers: [...servers, this.server(`v${dice.below(6)}`)] };
      case 5:
        return withServer({ server_name: dice.pick(names) });
      case 6:
        return withServer({ tags: dice.pick<Raw>([[], ["a"], ["b"], ["a", "b"], [7, "a"], "a"]) });
      case 7:
        return withServer({ metadata: this.odd(3), [`odd${dice.below(3)}`]: this.odd(1) });
      case 8:
        return withServer({ id: dice.pick<Raw>([null, "", "i".repeat(513), "a\u0000b"]) });
      case 9:
        return { ...sandbox, servers: dice.pick<Raw>([servers, null, {}, [], [null, ...servers]]) };
      default:
        return withServer({ status: dice.pick(statuses) });
    }
  }

  /** Another time of update, which nothing is made of. */
  private touched(sandbox: Raw): Raw {
    if (!isRaw(sandbox)) return sandbox;
    const at = String(this.step).padStart(6, "0");
    const servers = serversOf(sandbox).map((each) =>
      isRaw(each) ? { ...each, updated_at: `2026-02-16T12:45:25.${at}-08:00` } : each,
    );
    return Array.isArray(sandbox["servers"]) ? { ...sandbox, servers } : sandbox;
  }

  private unkeepable(): Raw {
    const sandbox = this.sandbox("x");
    const id = this.dice.pick<Raw>([null, "", 7, "i".repeat(513), "a\u0000b"]);
    return isRaw(sandbox) ? { ...sandbox, local_sandbox_id: id } : sandbox;
  }

  private sandbox(id: string): Raw {
    const { dice } = this;
    const count = dice.below(5);
    return {
      local_sandbox_id: dice.chance(0.1) ? dice.pick(oddTexts) : id,
      created_at: "2026-02-16T12:45:25.770231-08:00",
      status: dice.pick(statuses),
      benchmark: dice.chance(0.8) ? null : dice.pick(names),
      servers: Array.from({ length: count }, () => this.server(`v${dice.below(6)}`)),
    };
  }

  private server(id: string): Raw {
    const { dice } = this;
    const full = {
      id: dice.chance(0.05) ? dice.pick(oddTexts) : id,
      server_name: dice.pick(names),
      mcp_server_url: "https://host/github/mcp/?token=t",
      status: dice.pick(statuses),
      benchmark: dice.chance(0.9) ? null : dice.pick(names),
      updated_at: "2026-02-16T12:45:25.770231-08:00",
      metadata: dice.chance(0.9) ? null : this.odd(3),
      auth_data: null,
      tags: dice.chance(0.8) ? null : ["prod", dice.pick(oddTexts)],
    };
    return dice.chance(0.8) ? full : { id: full.id, status: full.status };
  }

  private odd(depth: number): Raw {
    const { dice } = this;
    if (depth === 0 || dice.chance(0.4)) return dice.pick<Raw>([null, true, 1.5e3, ...oddTexts]);
    if (dice.chance(0.5)) return [this.odd(depth - 1), this.odd(depth - 1)];
    return { [dice.pick(["status", "a", "}"])]: this.odd(depth - 1), b: this.odd(depth - 1) };
  }

  /** The same object is written in the same way each time. */
  private textOf(raw: Raw): string {
    const known = this.texts.get(raw);
    if (known !== undefined) return known;
    const text = this.text(raw);
    this.texts.set(raw, text);
    return text;
  }

  private text(raw: Raw): string {
    const { dice } = this;
    const space = this.isSpaced || dice.chance(0.02) ? dice.pick([" ", "\t", "\r\n  ", ""]) : "";
    if (typeof raw === "string") {
      return dice.chance(0.03) ? escaped(raw) : JSON.stringify(raw);
    }
    if (typeof raw === "number" && dice.chance(0.05)) return "1e400";
    if (!isRaw(raw) && !Array.isArray(raw)) return JSON.stringify(raw);
    if (Array.isArray(raw)) {
      return `[${space}${raw.map((each: Raw) => this.text(each)).join(`${space},${space}`)}]`;
    }
    const fields = Object.entries(raw).map(
      ([name, value]) => `${JSON.stringify(name)}:${space}${this.text(value ?? null)}`,
    );
    // A field that is there twice: the last one counts.
    if (dice.chance(0.02) && fields[0] !== undefined) fields.push(fields[0]);
    if (dice.chance(0.02)) fields.push(`"__proto__":{"id":"v1"}`);
    return `{${space}${fields.join(`${space},${space}`)}}`;
  }

  private damage(body: Buffer): Buffer {
    const { dice } = this;
    const at = dice.below(body.length + 1);
    if (dice.chance(0.4)) return Buffer.from(body.subarray(0, at));
    const byte = dice.pick([...Buffer.from('{}[]",:\\ \n0e-t\u00e9'), 0xff, 0x00, 0x80]);
    const bytes = [...body];
    bytes.splice(at, dice.below(3), ...(dice.chance(0.7) ? [byte] : []));
    return Buffer.from(bytes);
  }
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
