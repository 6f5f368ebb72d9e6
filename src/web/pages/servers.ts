import type { z } from "zod";
import type { searchServers } from "../../api/operations/search-servers.ts";
import type { ServerView } from "../../api/operations/targets.ts";
import { shownStatuses, type ServerSearch } from "../../fleet/server-search.ts";
import { readable } from "../../fleet/readable-text.ts";
import { ageOf, html, numberOf, type Html } from "../html.ts";
import { page, type PageAt } from "./layout.ts";
import { noFilter, serverAddress, serversAddress, sortText } from "./servers-address.ts";
import type { ServersQuery } from "./servers-address.ts";
import { hatch, swatch } from "./status-bar.ts";

export type FoundServers = z.output<typeof searchServers.response>;

/** What the filters offer. */
export interface KnownNames {
  readonly region: readonly string[];
  readonly key: readonly string[];
  readonly name: readonly string[];
}

export interface ServersView {
  readonly query: ServersQuery;
  readonly found: FoundServers;
  readonly known: KnownNames;
  /** What is wrong with the address. */
  readonly remarks: readonly string[];
}

export const rowsOfPage = 100;

const longestShown = 60;
const longestId = 8;

export function renderServers(view: ServersView, at: PageAt): string {
  const { query, found } = view;
  const words = [query.q, ...query.status, ...query.region, ...query.key, ...query.name];
  const title = [
    words
      .filter((word) => word !== "")
      .map(shortText)
      .join(", "),
    "Servers",
  ];
  return page(
    {
      title: title.filter((part) => part !== "").join(" · "),
      section: "Servers",
      reloads: false,
      modules: ["servers"],
      ...at,
    },
    [
      hatch,
      html`<div class="card">
        <h1>Servers</h1>
        ${filterForm(view)}
        <div id="servers" data-live>
          ${view.remarks.map((remark) => html`<p class="remark" role="status">${shortText(remark, 500)}</p>`)}
          ${statusChips(found, query)} ${listOf(view, at)}
        </div>
      </div>`,
    ],
  );
}

function filterForm({ query, known }: ServersView): Html {
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
  const [name = "", ...moreNames] = query.name;
  const [tag = "", ...moreTags] = query.tag;
  const sort = sortText(query.sort);
  return html`<form class="filters" action="servers" role="search" data-filters>
    <label class="search"
      >Search
      <input
        type="search"
        name="q"
        value="${query.q}"
        placeholder="name, id, sandbox, tag or benchmark"
        maxlength="1000"
        autocomplete="off"
    /></label>
    ${options("region", "Region")} ${options("key", "Key")}
    <label
      >Name <input name="name" value="${name}" list="names" maxlength="1000" autocomplete="off"
    /></label>
    <datalist id="names">
      ${known.name.map((each) => html`<option value="${each}"></option>`)}
    </datalist>
    <label>Tag <input name="tag" value="${tag}" maxlength="1000" autocomplete="off" /></label>
    ${moreNames.map((each) => hidden("name", each))} ${moreTags.map((each) => hidden("tag", each))}
    ${hidden("status", query.status.join(","))} ${hidden("sort", sort === "status" ? "" : sort)}
    <button>Search</button>
  </form>`;
}

/** Each leads to the servers of one status, and the chosen one back to all. @param query null: nothing is filtered here */
export function statusChips(
  { counts }: Pick<FoundServers, "counts">,
  query: ServersQuery | null,
): Html {
  const all = shownStatuses.reduce((sum, status) => sum + counts[status], 0);
  const chosen = query?.status ?? [];
  const chip = (content: Html, status: readonly string[], count: number, isOn: boolean): Html => {
    const current = isOn ? html`aria-current="true"` : "";
    const href = serversAddress({ ...query, status, page: 1 });
    return html`<li>
      <a class="chip" href="${href}" ${current}>${content} ${numberOf(count)}</a>
    </li> `;
  };
  return html`<ul class="chips" aria-label="Status">
    ${chip(html`all`, [], all, query !== null && chosen.length === 0)}
    ${chipOrder.map((status) => {
      const isOn = chosen.includes(status);
      const next = isOn && chosen.length === 1 ? [] : [status];
      return chip(html`${swatch(status)} ${status}`, next, counts[status], isOn);
    })}
  </ul>`;
}

/** The worst first. */
const chipOrder = ["error", "unknown", "occupied", "idle", "unobserved"] as const;

function listOf({ query, found }: ServersView, { nowMs }: PageAt): Html {
  const { servers, total } = found;
  const isFiltered = serversAddress({ ...query, sort: noFilter.sort, page: 1 }) !== "servers";
  if (total === 0) {
    return isFiltered
      ? html`<p class="empty">No server matches. <a href="servers">Show all servers</a></p>`
      : html`<p class="empty">
          No server is known yet. They appear with the first poll of a target.
        </p>`;
  }
  const offset = (query.page - 1) * rowsOfPage;
  const pages = Math.ceil(total / rowsOfPage);
  if (servers.length === 0) {
    return html`<p class="empty">
      There are only ${numberOf(pages)} pages.
      <a href="${serversAddress({ ...query, page: pages })}">Show the last one</a>
    </p>`;
  }
  return html`<table class="servers" aria-rowcount="${total + 1}">
      <caption class="hidden">
        Servers ${offset + 1} to ${offset + servers.length} of ${total}
      </caption>
      <thead>
        <tr aria-rowindex="1">
          ${sortHead("Server", "name", query)} ${sortHead("Status", "status", query)}
          ${sortHead("For", "since", query)} ${sortHead("Region / key", "target", query)}
          <th scope="col" class="wide">Sandbox</th>
          <th scope="col" class="wide">Tags, benchmark</th>
        </tr>
      </thead>
      <tbody>
        ${servers.map((server, index) => serverRow(server, offset + index + 2, nowMs))}
      </tbody>
    </table>
    ${pager(query, { offset, shown: servers.length, total, pages })}`;
}

function sortHead(text: string, by: ServerSearch["sort"]["by"], query: ServersQuery): Html {
  const { sort } = query;
  const isSorted = sort.by === by;
  const descending = isSorted && !sort.descending;
  // The longest time in a status comes first where `since` ascends.
  const rises = sort.descending === (by === "since");
  const order = isSorted ? html`aria-sort="${rises ? "ascending" : "descending"}"` : "";
  const href = serversAddress({ ...query, sort: { by, descending }, page: 1 });
  return html`<th scope="col" ${order}><a href="${href}">${text}</a></th>`;
}

function serverRow(server: ServerView, rowIndex: number, nowMs: number): Html {
  const { region, key, sandbox_id: sandbox, server_id: id, tags, benchmark } = server;
  return html`<tr aria-rowindex="${rowIndex}">
    <th scope="row">
      <a href="${serverAddress(server)}">${nameOf(server)}</a>
      <span class="id" title="${shortText(id, 512)}">${shortText(id, longestId)}</span>
    </th>
    <td>${statusOf(server)}</td>
    <td>${ageOf(Date.parse(server.since), nowMs)}</td>
    <td>${region} / ${key}</td>
    <td class="wide id" title="${shortText(sandbox, 512)}">${shortText(sandbox, longestId)}</td>
    <td class="wide quiet">
      ${shortText([...tags, ...(benchmark === null ? [] : [benchmark])].join(", "))}
    </td>
  </tr> `;
}

export function nameOf({ server_name: name }: Pick<ServerView, "server_name">): string {
  return shortText(name ?? "") || "unnamed";
}

/** What the service wrote, as one short line without characters that do more than show themselves. */
export function shortText(text: string, longest = longestShown): string {
  return readable(text, longest).trim();
}

export function statusOf({ status, stale, missing }: ServerView): Html {
  if (stale) {
    return html`<span class="status">${swatch("unobserved")} unobserved</span>
      <small class="quiet">was ${status}</small>`;
  }
  return html`<span class="status ${status === "error" ? "bad" : ""}"
      >${swatch(status)} ${status}</span
    >
    ${missing > 0 ? html`<small class="quiet">missing from the last listing</small>` : ""}`;
}

function pager(
  query: ServersQuery,
  { offset, shown, total, pages }: Readonly<Record<"offset" | "shown" | "total" | "pages", number>>,
): Html {
  const link = (text: string, number: number, rel: string): Html =>
    number < 1 || number > pages || number === query.page
      ? html`<span class="button" aria-disabled="true">${text}</span>`
      : html`<a class="button" href="${serversAddress({ ...query, page: number })}" rel="${rel}"
          >${text}</a
        >`;
  return html`<nav class="pager" aria-label="Pages of servers">
    <p>${numberOf(offset + 1)} to ${numberOf(offset + shown)} of ${numberOf(total)}</p>
    ${
      pages === 1
        ? ""
        : html`${link("First", 1, "first")} ${link("Previous", query.page - 1, "prev")}
          ${link("Next", query.page + 1, "next")} ${link("Last", pages, "last")}`
    }
  </nav>`;
}
