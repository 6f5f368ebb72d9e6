import { sql } from "kysely";
import type { RawBuilder } from "kysely";
import type { Presence } from "../core/model.ts";
import type { PackedChanges } from "../core/snapshot/packed-changes.ts";
import { beginningOfUuid } from "../core/snapshot/packed-id.ts";

/** Which changes are meant, by what they themselves tell. Left out or empty: whatever it is. */
export interface ChangeFilter {
  /** The server's id, what it begins like, or the server's name. */
  readonly server?: string | undefined;
  /** The sandbox's id, or what it begins like. */
  readonly sandbox?: string | undefined;
  readonly name?: readonly string[] | undefined;
  /** From one of these, or to one. */
  readonly status?: readonly Presence[] | undefined;
  readonly from?: readonly Presence[] | undefined;
  readonly to?: readonly Presence[] | undefined;
  /** Whether lapses are meant too: they are from the status that they are to. */
  readonly lapses?: boolean | undefined;
}

/** What a filter is about, as it is in words and in texts. */
interface Sought {
  /** What ids begin like: in the words, where so much of a UUID is given, or in the texts. */
  readonly ids: readonly { readonly bytes: Buffer | null; readonly text: string }[];
  /** Any of these; none: whatever it is. */
  readonly names: readonly string[];
}

function soughtBy({ server, sandbox, name = [] }: ChangeFilter): Sought {
  const ids = [server, sandbox].flatMap((beginning) => {
    if (beginning === undefined) return [];
    const bytes = beginningOfUuid(beginning);
    // Nearly every id has such a beginning.
    if (bytes === null && /^[\da-f]?$/.test(beginning)) return [];
    return [{ bytes: bytes && Buffer.from(bytes), text: JSON.stringify(beginning).slice(0, -1) }];
  });
  return { ids, names: name.map((each) => JSON.stringify(each)) };
}

/** Whether a row may hold a change that is meant: most are told apart without being unpacked. */
export function mayHold(filter: ChangeFilter): RawBuilder<unknown> {
  const { ids, names } = soughtBy(filter);
  const inTexts = (text: string): RawBuilder<unknown> => sql`instr(changes.texts, ${text})`;
  const conditions = ids.map(({ bytes, text }) =>
    bytes === null ? inTexts(text) : sql`(instr(changes.words, ${bytes}) or ${inTexts(text)})`,
  );
  if (names.length > 0) conditions.push(sql`(${sql.join(names.map(inTexts), sql` or `)})`);
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `);
}

/** The same of words and texts that are at hand. */
export function mayHoldIn(
  filter: ChangeFilter,
): (words: Uint8Array, texts: readonly string[]) => boolean {
  const { ids, names } = soughtBy(filter);
  if (ids.length + names.length === 0) return () => true;
  return (words, texts) => {
    const inTexts = (sought: string): boolean => texts.some((text) => text.includes(sought));
    return (
      ids.every(({ bytes, text }) => (bytes && holdsBytes(words, bytes)) || inTexts(text)) &&
      (names.length === 0 || names.some(inTexts))
    );
  };
}

function holdsBytes({ buffer, byteOffset, byteLength }: Uint8Array, bytes: Buffer): boolean {
  return Buffer.from(buffer, byteOffset, byteLength).includes(bytes);
}

/** Tells of the changes of a row, by number, which are meant. */
export function isMeant(filter: ChangeFilter): (changes: PackedChanges, index: number) => boolean {
  const { server, sandbox, lapses = false } = filter;
  const names = setOf(filter.name);
  const either = setOf(filter.status);
  const from = setOf(filter.from);
  const to = setOf(filter.to);
  return (changes, index) =>
    (lapses || changes.lapse(index) === null) &&
    (either === null || either.has(changes.from(index)) || either.has(changes.to(index))) &&
    (from === null || from.has(changes.from(index))) &&
    (to === null || to.has(changes.to(index))) &&
    (names === null || names.has(changes.serverName(index))) &&
    (sandbox === undefined || changes.sandboxId(index).startsWith(sandbox)) &&
    (server === undefined ||
      changes.serverName(index) === server ||
      changes.serverId(index).startsWith(server));
}

function setOf<Item>(items: readonly Item[] | undefined): ReadonlySet<Item | null> | null {
  return items === undefined || items.length === 0 ? null : new Set(items);
}
