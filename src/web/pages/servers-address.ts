import { unknownNames } from "../../api/match-notes.ts";
import { readLabels } from "./label-filter.ts";
import { sandboxSorts, serverSorts, shownStatuses } from "../../fleet/fleet-search.ts";

/** The two lists, which can be filtered in the same way. */
export type ListKind = "servers" | "sandboxes";

/** By what each can be sorted. */
const sortsOf = { servers: serverSorts, sandboxes: sandboxSorts } as const;

interface Sort {
  readonly by: string;
  readonly descending: boolean;
}

/** What the address of a list asks for. */
export interface ListQuery {
  readonly q: string;
  readonly status: readonly string[];
  readonly region: readonly string[];
  readonly key: readonly string[];
  /** Of keys, such as `team=search`. */
  readonly label: readonly string[];
  readonly name: readonly string[];
  readonly tag: readonly string[];
  readonly benchmark: readonly string[];
  readonly sort: Sort;
  /** From 1 on. */
  readonly page: number;
}

export const noFilter: ListQuery = {
  q: "",
  status: [],
  region: [],
  key: [],
  label: [],
  name: [],
  tag: [],
  benchmark: [],
  sort: { by: "status", descending: false },
  page: 1,
};

/** Values of these may contain commas. */
export const textFilters = ["name", "tag", "benchmark"] as const;

const fields = Object.keys(noFilter);
const longestText = 1_000;
const mostValues = 100;
const mostPages = 1_000_000;

/** Reads an address as far as it can be read, and says what is wrong with the rest. */
export function readListQuery(
  kind: ListKind,
  given: unknown,
  known: { readonly region: readonly string[]; readonly key: readonly string[] },
): { readonly query: ListQuery; readonly remarks: readonly string[] } {
  const sent = new Map(
    Object.entries(Object(given)).map(([name, value]) => [name, [value].flat().map(String)]),
  );
  const remarks = unknownNames("filter", [...sent.keys()], fields).map((each) => `${each}.`);
  const cut = (text: string): string => {
    if (text.length > longestText) {
      remarks.push(`Only the first ${longestText} characters of a filter are used.`);
    }
    return text.slice(0, longestText);
  };
  const values = (field: string): readonly string[] =>
    (sent.get(field) ?? [])
      .flatMap((value) => (value === "" ? [] : cut(value)))
      .slice(0, mostValues);
  const words = <Word extends string>(what: string, all: readonly Word[]): readonly Word[] => {
    const chosen = values(what).flatMap((value) => value.split(","));
    for (const word of chosen) {
      if (!all.some((each) => each === word)) remarks.push(unknownText(what, word, all));
    }
    return all.filter((word) => chosen.includes(word));
  };
  const sorts = sortsOf[kind].flatMap((by) => [by, `-${by}`]);
  const [sort = "status"] = words("sort", sorts);
  const [page = "1"] = values("page");
  const isPage = /^[1-9]\d*$/.test(page) && Number(page) <= mostPages;
  if (!isPage) remarks.push(`There is no page ${JSON.stringify(page)}: this is the first one.`);
  const query = {
    q: cut((sent.get("q") ?? []).join(" ").trim()),
    status: words("status", shownStatuses),
    region: words("region", known.region),
    key: words("key", known.key),
    label: readLabels(given).map(cut).slice(0, mostValues),
    name: values("name"),
    tag: values("tag"),
    benchmark: values("benchmark"),
    sort: { by: sort.replace(/^-/, ""), descending: sort.startsWith("-") },
    page: isPage ? Number(page) : 1,
  };
  return { query, remarks: [...new Set(remarks)] };
}

function unknownText(what: string, word: string, all: readonly string[]): string {
  const [text = `no ${what} is called ${JSON.stringify(word)}`] = unknownNames(what, [word], all);
  return `${text}. It is ignored.`;
}

/** The address of a list, relative to the overview. */
export function listAddress(kind: ListKind, query: Partial<ListQuery>): string {
  const { sort = noFilter.sort, page = 1, q = "", ...lists } = query;
  const params = new URLSearchParams(q === "" ? {} : { q });
  for (const field of ["status", "region", "key", "label"] as const) {
    if (lists[field]?.length) params.set(field, lists[field].join(","));
  }
  for (const field of textFilters) {
    for (const value of lists[field] ?? []) params.append(field, value);
  }
  if (sort.by !== "status" || sort.descending) params.set("sort", sortText(sort));
  if (page > 1) params.set("page", String(page));
  return params.size === 0 ? kind : `${kind}?${params.toString()}`;
}

export function serversAddress(query: Partial<ListQuery>): string {
  return listAddress("servers", query);
}

export function sandboxesAddress(query: Partial<ListQuery>): string {
  return listAddress("sandboxes", query);
}

export function sortText({ by, descending }: Sort): string {
  return descending ? `-${by}` : by;
}

/** Where a sandbox is, or was last. */
export interface SandboxPlace {
  readonly region: string;
  readonly key: string;
  readonly sandbox_id: string;
}

/** The address of the page of a server, relative to the overview. Ids of the service may hold anything. */
export function serverAddress(server: SandboxPlace & { readonly server_id: string }): string {
  const { region, key, sandbox_id: sandbox, server_id } = server;
  const params = new URLSearchParams({ region, key, sandbox, server: server_id });
  return `server?${params.toString()}`;
}

/** The same of the page of a sandbox. */
export function sandboxAddress({ region, key, sandbox_id: sandbox }: SandboxPlace): string {
  return `sandbox?${new URLSearchParams({ region, key, sandbox }).toString()}`;
}
