import type { Tables } from "./tables.ts";

/** A row whose content cannot be read: which one, and nothing of its content. */
export interface UnreadableRow {
  readonly table: keyof Tables;
  /** The id of the row in its table. */
  readonly id: string;
}

/** More ids of a table are not remembered: the database is damaged as a whole then. */
const mostRemembered = 1_000;

export type RowReading = ReturnType<typeof createRowReading>;

/**
 * Reads rows one by one. A row that cannot be read is reported once and left where it is; it does not keep the others
 * from being read.
 */
export function createRowReading(onUnreadable: (row: UnreadableRow) => void = () => {}) {
  const unreadable = new Map<keyof Tables, Set<string>>();

  const report = (table: keyof Tables, row: object): void => {
    const id = identityOf(table, row);
    const known = unreadable.get(table) ?? new Set();
    unreadable.set(table, known);
    if (known.has(id) || known.size >= mostRemembered) return;
    known.add(id);
    onUnreadable({ table, id });
  };

  /** @returns null when the row cannot be read */
  const read = <Row extends object, Value extends object>(
    table: keyof Tables,
    row: Row,
    readRow: (row: Row) => Value,
  ): Value | null => {
    try {
      Object.values(row).forEach(checkNumber);
      return readRow(row);
    } catch {
      report(table, row);
      return null;
    }
  };

  return {
    read,
    /** The rows that can be read. */
    all: <Row extends object, Value extends object>(
      table: keyof Tables,
      rows: readonly Row[],
      readRow: (row: Row) => Value,
    ): readonly Value[] => rows.flatMap((row) => read(table, row, readRow) ?? []),
    /** The ids of those that were found so far, by table. */
    unreadable: unreadable as ReadonlyMap<keyof Tables, ReadonlySet<string>>,
  };
}

/** What identifies rows that have neither `seq` nor `id`. */
const identities: Partial<Record<keyof Tables, readonly string[]>> = {
  drift: ["operation", "region", "field", "problem"],
  flap_records: ["target_id", "rule", "sandbox_id", "server_id"],
  region_flap_records: ["rule"],
  probe_flap_records: ["probe_id", "rule"],
  probe_results: ["probeId", "run"],
  rollups: ["resolution", "start_at_ms", "target_id", "counted", "value"],
};

function identityOf(table: keyof Tables, row: object): string {
  const values = new Map(Object.entries(row));
  const columns = identities[table] ?? [values.has("seq") ? "seq" : "id"];
  return columns.map((column) => String(values.get(column))).join(" ");
}

/** The last moment that a `Date` can be. No count and no duration is greater, either. */
const greatest = 8_640_000_000_000_000;

/** @throws {RangeError} when it is a number that sandwatch never stores */
function checkNumber(value: unknown): void {
  if (typeof value === "number" && !(Math.abs(value) <= greatest)) {
    throw new RangeError("a stored number is out of range");
  }
}

/** @throws {RangeError} when the text is none of them */
export function oneOf<Word extends string>(words: readonly Word[], text: string): Word {
  const word = words.find((each) => each === text);
  if (word === undefined) throw new RangeError("a stored word is not known");
  return word;
}

export function textIn(value: unknown): string {
  if (typeof value === "string") return value;
  throw new TypeError("a stored text is missing");
}

export function numberIn(value: unknown): number {
  if (typeof value === "number") return value;
  throw new TypeError("a stored number is missing");
}

export function listIn<Item>(list: unknown, read: (value: unknown) => Item): readonly Item[] {
  if (Array.isArray(list)) return list.map((value: unknown) => read(value));
  throw new TypeError("a stored list is missing");
}

/** For a log, a command, or the check of a store. */
export function unreadableText({ table, id }: UnreadableRow): string {
  return `row ${id} of the table ${table} cannot be read; sandwatch continues without it`;
}
