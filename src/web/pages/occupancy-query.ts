import { RefusedError } from "../../lib/refused-error.ts";
import { readable } from "../../fleet/text.ts";
import { reportedKinds, type ReportedKind } from "../../reports/report-fields.ts";

/** What the address of a page says of the occupancy to be shown, as the API has it. */
export interface OccupancyQuery {
  /** What is counted. */
  readonly of: ReportedKind;
  readonly from: string;
  /** Null: until now. */
  readonly to: string | null;
  readonly region: readonly string[];
  readonly key: readonly string[];
  readonly serverName: readonly string[];
  /** Null: that of the reader. */
  readonly tz: string | null;
}

export const ranges = { "6 h": "6h", "24 h": "24h", "7 d": "7d", "30 d": "30d" } as const;

export const everything: OccupancyQuery = {
  of: "servers",
  from: "24h",
  to: null,
  region: [],
  key: [],
  serverName: [],
  tz: null,
};

const queryFields = ["of", "from", "to", "region", "key", "server_name", "tz"] as const;
type Field = (typeof queryFields)[number];

/** @param query what the address says; fields of other parts of a page are not read */
export function readQuery(query: unknown): OccupancyQuery {
  const all = (field: Field): readonly string[] => {
    const values: readonly unknown[] = [Object(query)[field]].flat();
    return values.filter((each) => typeof each === "string").filter((each) => each !== "");
  };
  const list = (field: Field): readonly string[] => all(field).flatMap((each) => each.split(","));
  return {
    of: reportedKinds.find((each) => each === all("of").at(-1)) ?? everything.of,
    from: all("from").at(-1) ?? everything.from,
    to: all("to").at(-1) ?? null,
    region: list("region"),
    key: list("key"),
    serverName: all("server_name"),
    tz: all("tz").at(-1) ?? null,
  };
}

/** The part of an address behind its path. Of everything it is empty. */
export function queryText(query: OccupancyQuery): string {
  const { of, from, to, region, key, serverName, tz } = query;
  const isDefault = from === everything.from && to === null;
  return addressQuery({
    ...(of !== everything.of && { of }),
    ...(!isDefault && { from }),
    to,
    region,
    key,
    server_name: serverName,
    tz,
  });
}

/** Fields that are null or empty are omitted. */
export function addressQuery(
  fields: Readonly<Record<string, string | readonly string[] | null>>,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const each of [value].flat()) if (each !== null) query.append(name, each);
  }
  return query.size === 0 ? "" : `?${query.toString()}`;
}

/** Fields that are not among those of the page, and what cannot be counted. */
export function unknownFields(query: unknown): readonly string[] {
  const counted: unknown = Object(query).of ?? everything.of;
  const isKnown = reportedKinds.some((each) => each === counted);
  return [
    ...Object.keys(Object(query))
      .filter((name) => !queryFields.some((field) => field === name))
      .map((name) => `There is no filter ${quoted(name)}: it was ignored.`),
    ...(isKnown ? [] : [`of cannot be ${quoted(String(counted))}. Allowed: servers or sandboxes.`]),
  ];
}

/** What can be used of a query, and what is wrong with the rest. */
export interface Understood<Found> {
  readonly query: OccupancyQuery;
  readonly found: Found;
  readonly faults: readonly string[];
}

/** Leaves out what is refused. @throws when nothing but the default is refused */
export async function understand<Found>(
  query: OccupancyQuery,
  read: (query: OccupancyQuery) => Promise<Found>,
): Promise<Understood<Found>> {
  try {
    return { query, found: await read(query), faults: [] };
  } catch (error) {
    if (!(error instanceof RefusedError) || error.kind !== "invalid") throw error;
    const paths = new Set(error.faults.map(({ path }) => path));
    const rest = without(query, paths);
    if (queryText(rest) === queryText(query)) throw error;
    const faults = error.faults.map(({ path, allowed }) => faultText(query, path, allowed));
    const { faults: more, ...understood } = await understand(rest, read);
    return { ...understood, faults: [...faults, ...more] };
  }
}

function without(query: OccupancyQuery, paths: ReadonlySet<string>): OccupancyQuery {
  const isRangeWrong = paths.has("from") || paths.has("to");
  return {
    ...query,
    ...(isRangeWrong && { from: everything.from, to: null }),
    ...(paths.has("region") && { region: [] }),
    ...(paths.has("key") && { key: [] }),
    ...(paths.has("server_name") && { serverName: [] }),
    ...(paths.has("tz") && { tz: null }),
  };
}

function faultText(query: OccupancyQuery, path: string, allowed: string): string {
  const { from, to, region, key, serverName, tz } = query;
  const written: Readonly<Record<string, string | null>> = {
    from,
    to,
    region: region.join(),
    key: key.join(),
    server_name: serverName.join(),
    tz,
  };
  return `${path} cannot be ${quoted(written[path] ?? "")}. Allowed: ${allowed}.`;
}

export function quoted(text: string): string {
  return `“${readable(text, 60)}”`;
}
