import { shownStatuses, type ShownStatus } from "../../fleet/fleet-search.ts";
import { namesText } from "../../fleet/text.ts";
import { readable } from "../../fleet/text.ts";
import { html, numberOf, table, type Column, type Html } from "../html.ts";
import { labelNote } from "./label-filter.ts";
import { page, type PageAt } from "./layout.ts";
import { listAddress, noFilter, sortText, textFilters } from "./servers-address.ts";
import type { ListKind, ListQuery } from "./servers-address.ts";
import { hatch, swatch } from "./status-bar.ts";

/** What the filters offer. */
export interface KnownNames {
  readonly region: readonly string[];
  readonly key: readonly string[];
  readonly name: readonly string[];
}

export interface ListCounts {
  readonly total: number;
  readonly counts: Readonly<Record<ShownStatus, number>>;
}

/** A list that its address filters. */
export interface FleetList {
  readonly kind: ListKind;
  readonly query: ListQuery;
  readonly found: ListCounts;
  readonly known: KnownNames;
  /** What is wrong with the address. */
  readonly remarks: readonly string[];
}

export interface SortedColumn<Row> extends Column<Row> {
  /** By what the list can be sorted. */
  readonly sort?: string;
}

/** What differs between the lists. */
export interface ListLook<Row> {
  readonly title: "Servers" | "Sandboxes";
  readonly one: "server" | "sandbox";
  /** What can be searched. */
  readonly searched: string;
  readonly columns: readonly SortedColumn<Row>[];
  readonly rows: readonly Row[];
  /** What else matches. */
  readonly also: Html | "";
}

export const rowsOfPage = 100;

const longestShown = 60;

export function renderFleetList<Row>(list: FleetList, look: ListLook<Row>, at: PageAt): string {
  const { kind, query, remarks, found } = list;
  const { q, status, region, key, label, name } = query;
  const words = [q, ...status, ...region, ...key, ...label, ...name];
  const title = [
    words
      .filter((word) => word !== "")
      .map((word) => shortText(word))
      .join(", "),
    look.title,
  ];
  return page(
    {
      title: title.filter((part) => part !== "").join(" · "),
      section: look.title,
      reloads: false,
      modules: ["servers"],
      ...at,
    },
    [
      hatch,
      html`<div class="card">
        <h1>${look.title}</h1>
        ${filterForm(list, look)}
        ${labelNote(label, listAddress(kind, { ...query, label: [], page: 1 }))}
        <div id="${kind}" data-live>
          ${remarks.map((remark) => html`<p class="remark" role="status">${shortText(remark, 500)}</p>`)}
          ${statusChips(kind, found, query)} ${look.also} ${tableOf(list, look)}
        </div>
      </div>`,
    ],
  );
}

function filterForm(
  { kind, query, known }: FleetList,
  { searched }: { readonly searched: string },
): Html {
  const hidden = (name: string, value: string): Html =>
    value === "" ? html`` : html`<input type="hidden" name="${name}" value="${value}" />`;
  const options = (field: "region" | "key", label: string): Html | string => {
    const chosen = query[field].join(",");
    const values =
      known[field].includes(chosen) || chosen === "" ? known[field] : [chosen, ...known[field]];
    if (values.length < 2 && chosen === "") return "";
    return html`<label
      >${label}
      <select name="${field}">
        <option value="">all</option>
        ${values.map((value) =>
          value === chosen
            ? html`<option value="${value}" selected>${value.replaceAll(",", ", ")}</option>`
            : html`<option value="${value}">${value}</option>`,
        )}
      </select></label
    >`;
  };
  const text = (field: (typeof textFilters)[number], label: string): Html => {
    const [value = ""] = query[field];
    const names = field === "name" ? html`list="names"` : "";
    return html`<label
      >${label}
      <input name="${field}" value="${value}" ${names} maxlength="1000" autocomplete="off"
    /></label>`;
  };
  const sort = sortText(query.sort);
  return html`<form class="filters" action="${kind}" role="search" data-filters>
    <label class="search"
      >Search
      <input
        type="search"
        name="q"
        value="${query.q}"
        placeholder="${searched}"
        maxlength="1000"
        autocomplete="off"
    /></label>
    ${options("region", "Region")} ${options("key", "Key")}
    ${text("name", kind === "servers" ? "Name" : "Server name")} ${text("tag", "Tag")}
    ${text("benchmark", "Benchmark")}
    <datalist id="names">
      ${known.name.map((each) => html`<option value="${each}"></option>`)}
    </datalist>
    ${textFilters.flatMap((field) => query[field].slice(1).map((each) => hidden(field, each)))}
    ${hidden("label", query.label.join(","))} ${hidden("status", query.status.join(","))}
    ${hidden("sort", sort === "status" ? "" : sort)}
    <button>Search</button>
  </form>`;
}

/** Each leads to those of one status, and the chosen one back to all. @param query the labels alone: nothing else is filtered here */
export function statusChips(
  kind: ListKind,
  { counts }: Pick<ListCounts, "counts">,
  query: ListQuery | ListQuery["label"],
): Html {
  const all = shownStatuses.reduce((sum, status) => sum + counts[status], 0);
  const isFiltered = "status" in query;
  const asked: Partial<ListQuery> = isFiltered ? query : { label: query };
  const chosen = asked.status ?? [];
  const chip = (content: Html, status: readonly string[], count: number, isOn: boolean): Html => {
    const current = isOn ? html`aria-current="true"` : "";
    const href = listAddress(kind, { ...asked, status, page: 1 });
    return html`<li>
      <a class="chip" href="${href}" ${current}>${content} ${numberOf(count)}</a>
    </li> `;
  };
  return html`<ul class="chips" aria-label="Status">
    ${chip(html`all`, [], all, isFiltered && chosen.length === 0)}
    ${chipOrder.map((status) => {
      const isOn = chosen.includes(status);
      const next = isOn && chosen.length === 1 ? [] : [status];
      return chip(html`${swatch(status)} ${status}`, next, counts[status], isOn);
    })}
  </ul>`;
}

/** The worst first. */
const chipOrder = ["error", "unknown", "occupied", "idle", "unobserved"] as const;

function tableOf<Row>({ kind, query, found: { total } }: FleetList, look: ListLook<Row>): Html {
  const isFiltered = listAddress(kind, { ...query, sort: noFilter.sort, page: 1 }) !== kind;
  if (total === 0) {
    return isFiltered
      ? html`<p class="empty">No ${look.one} matches. <a href="${kind}">Show all ${kind}</a></p>`
      : html`<p class="empty">
          No ${look.one} is known yet. They appear with the first poll of a target.
        </p>`;
  }
  const shown = look.rows.length;
  const offset = (query.page - 1) * rowsOfPage;
  const pages = Math.ceil(total / rowsOfPage);
  if (shown === 0) {
    return html`<p class="empty">
      There are only ${numberOf(pages)} pages.
      <a href="${listAddress(kind, { ...query, page: pages })}">Show the last one</a>
    </p>`;
  }
  const columns = look.columns.map((column) => ({ ...column, ...sortHead(kind, column, query) }));
  const listed = table(look.rows, columns, {
    attributes: html`class="servers" aria-rowcount="${total + 1}"`,
    caption: `${look.title} ${offset + 1} to ${offset + shown} of ${total}`,
    rowAttributes: (index) => html`aria-rowindex="${index === 0 ? 1 : offset + index + 1}"`,
  });
  return html`${listed} ${pager(kind, query, { offset, shown, total, pages })}`;
}

/** A head that leads to the list sorted by it, or if it is that already, in the other order. */
function sortHead<Row>(
  kind: ListKind,
  { head, sort: by }: SortedColumn<Row>,
  query: ListQuery,
): Pick<Column<Row>, "head" | "headAttributes"> {
  if (by === undefined) return { head };
  const { sort } = query;
  const isSorted = sort.by === by;
  const descending = isSorted && !sort.descending;
  // The longest time comes first where these ascend.
  const rises = sort.descending === (by === "since" || by === "created");
  const href = listAddress(kind, { ...query, sort: { by, descending }, page: 1 });
  return {
    head: html`<a href="${href}">${head}</a>`,
    ...(isSorted && { headAttributes: html`aria-sort="${rises ? "ascending" : "descending"}"` }),
  };
}

function pager(
  kind: ListKind,
  query: ListQuery,
  { offset, shown, total, pages }: Readonly<Record<"offset" | "shown" | "total" | "pages", number>>,
): Html {
  const link = (text: string, number: number, rel: string): Html =>
    number < 1 || number > pages || number === query.page
      ? html`<span class="button" aria-disabled="true">${text}</span>`
      : html`<a class="button" href="${listAddress(kind, { ...query, page: number })}" rel="${rel}"
          >${text}</a
        >`;
  return html`<nav class="pager" aria-label="Pages of ${kind}">
    <p>${numberOf(offset + 1)} to ${numberOf(offset + shown)} of ${numberOf(total)}</p>
    ${
      pages === 1
        ? ""
        : html`${link("First", 1, "first")} ${link("Previous", query.page - 1, "prev")}
          ${link("Next", query.page + 1, "next")} ${link("Last", pages, "last")}`
    }
  </nav>`;
}

/** What the service wrote, as one short line without characters that do more than show themselves. */
export function shortText(text: string, longest = longestShown): string {
  return readable(text, longest).trim();
}

/** Longer names of regions, keys and receivers are cut in lists. */
const longestInList = 24;

/** Where something is; its own page has the whole names. */
export function placeOf({ region, key }: { readonly region: string; readonly key: string }): Html {
  return html`<span title="${region} / ${key}"
    >${readable(region, longestInList)} / ${readable(key, longestInList)}</span
  >`;
}

/** The page of an incident has the whole names. */
export function receiversText(receivers: readonly string[]): string {
  const names = receivers.map((name) => readable(name, longestInList));
  return namesText(names, mostReceivers);
}

const mostReceivers = 3;

export function statusOf({
  status,
  stale,
  missing,
}: {
  readonly status: ShownStatus;
  readonly stale: boolean;
  readonly missing: number;
}): Html {
  if (stale) {
    return html`<span class="status">${swatch("unobserved")} unobserved</span>
      <small class="quiet">was ${status}</small>`;
  }
  return html`<span class="status ${status === "error" ? "bad" : ""}"
      >${swatch(status)} ${status}</span
    >
    ${missing > 0 ? html`<small class="quiet">missing from the last listing</small>` : ""}`;
}
