import { statuses } from "../../core/model.ts";
import { packUuid } from "../../core/snapshot/packed-id.ts";
import type { SandboxRow, ServerRow } from "../../core/snapshot/snapshot.ts";

/** Pages as the store had them before they had legends: where in a record's words its facts are. */
export const wideSandbox = { words: 8, firstServer: 4, benchmark: 5, flags: 6 } as const;
export const wideServer = {
  words: 12,
  since: 4,
  sinceObserved: 6,
  name: 8,
  benchmark: 9,
  tags: 10,
  flags: 11,
} as const;

export interface WidePage {
  readonly sandboxCount: number;
  readonly words: Uint32Array<ArrayBuffer>;
  /** The first stands for null. */
  readonly texts: readonly string[];
}

export interface WideRows extends SandboxRow {
  readonly servers: readonly ServerRow[];
}

export function widePage(sandboxes: readonly WideRows[]): WidePage {
  const serverCount = sandboxes.reduce((sum, { servers }) => sum + servers.length, 0);
  const serversAt = sandboxes.length * wideSandbox.words;
  const words = new Uint32Array(serversAt + serverCount * wideServer.words);
  const doubles = new Float64Array(words.buffer);
  const numbers = new Map<string | null, number>([[null, 0]]);
  const texts = [""];
  const numberOf = (text: string | null): number => {
    const number = numbers.get(text) ?? texts.push(text ?? "") - 1;
    numbers.set(text, number);
    return number;
  };
  const writeId = (id: string, at: number): number => {
    if (packUuid(id, words, at)) return 0;
    words[at] = numberOf(id);
    return 0b1000;
  };
  let server = 0;
  for (const [sandbox, row] of sandboxes.entries()) {
    const at = sandbox * wideSandbox.words;
    const { status, missing } = row;
    words[at + wideSandbox.flags] = writeId(row.sandboxId, at) | flagsOf(status, missing);
    words[at + wideSandbox.firstServer] = server;
    words[at + wideSandbox.benchmark] = numberOf(row.benchmark);
    for (const held of row.servers) {
      const heldAt = serversAt + server++ * wideServer.words;
      const witnessed = held.sinceWitnessed ? 0b100 : 0;
      words[heldAt + wideServer.flags] =
        writeId(held.serverId, heldAt) | witnessed | flagsOf(held.status, held.missing);
      doubles[(heldAt + wideServer.since) / 2] = held.sinceMs;
      doubles[(heldAt + wideServer.sinceObserved) / 2] = held.sinceObservedMs;
      words[heldAt + wideServer.name] = numberOf(held.serverName);
      words[heldAt + wideServer.benchmark] = numberOf(held.benchmark);
      const tags = held.tags.length === 0 ? null : JSON.stringify(held.tags);
      words[heldAt + wideServer.tags] = numberOf(tags);
    }
  }
  return { sandboxCount: sandboxes.length, words, texts };
}

function flagsOf(status: SandboxRow["status"], missing: number): number {
  return statuses.indexOf(status) | (Math.min(missing, 0xffff) << 16);
}
