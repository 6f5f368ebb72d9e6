import type { ServerView } from "../../api/operations/targets.ts";
import type { SandboxView } from "../../api/operations/sandboxes.ts";
import { counted } from "../../fleet/text.ts";
import { ageOf, html, type Html } from "../html.ts";
import { placeOf, renderFleetList, shortText, statusOf } from "./fleet-list.ts";
import type { FleetList, SortedColumn } from "./fleet-list.ts";
import type { PageAt } from "./layout.ts";
import { sandboxAddress, sandboxesAddress, serverAddress } from "./servers-address.ts";

const longestId = 8;

/** The sandboxes that match the same search. */
export interface MatchingSandboxes {
  readonly sandboxes: readonly SandboxView[];
  readonly total: number;
}

export function renderServers(
  list: FleetList,
  servers: readonly ServerView[],
  matching: MatchingSandboxes,
  at: PageAt,
): string {
  const look = {
    title: "Servers",
    one: "server",
    searched: "name, id, sandbox, tag or benchmark",
    columns: [...serverColumns(at), sandboxColumn, { ...attributesColumn, isWide: true }],
    rows: servers,
    also: sandboxesNote(list, matching),
  } as const;
  return renderFleetList(list, look, at);
}

/** A search of servers does not find a sandbox that has none. */
function sandboxesNote({ query }: FleetList, { sandboxes, total }: MatchingSandboxes): Html | "" {
  if (query.q === "" || total === 0) return "";
  const { sort: _, page: __, ...filter } = query;
  const named = total <= sandboxes.length ? sandboxes : [];
  const links = named.map((sandbox, index) => {
    const { sandbox_id: id, status, stale } = sandbox;
    const separator = index === 0 ? ": " : ", ";
    return html`${separator}<a href="${sandboxAddress(sandbox)}">${shortText(id)}</a>
      (${stale ? "unobserved" : status})`;
  });
  return html`<p class="quiet also">
    <a href="${sandboxesAddress(filter)}">${counted(total, "sandbox", "sandboxes")}</a>
    ${total === 1 ? "matches" : "match"}${links}
  </p>`;
}

/** What lists of servers have in common. */
export const serverColumns = ({ nowMs }: Pick<PageAt, "nowMs">) =>
  [
    {
      head: "Server",
      sort: "name",
      isHead: true,
      cell(server) {
        const { server_id: id } = server;
        return html`<a href="${serverAddress(server)}">${nameOf(server)}</a>
          <span class="id" title="${shortText(id, 512)}">${shortText(id, longestId)}</span>`;
      },
    },
    { head: "Status", sort: "status", cell: statusOf },
    { head: "For", sort: "since", cell: ({ since }) => ageOf(Date.parse(since), nowMs) },
    { head: "Region / key", sort: "target", cell: placeOf },
  ] as const satisfies readonly SortedColumn<ServerView>[];

const sandboxColumn: SortedColumn<ServerView> = {
  head: "Sandbox",
  isWide: true,
  tone: "id",
  cell: (server) =>
    html`<a href="${sandboxAddress(server)}" title="${shortText(server.sandbox_id, 512)}"
      >${shortText(server.sandbox_id, longestId)}</a
    >`,
};

export const attributesColumn: SortedColumn<ServerView> = {
  head: "Tags, benchmark",
  cell: ({ tags, benchmark }) =>
    shortText([...tags, ...(benchmark === null ? [] : [benchmark])].join(", ")),
  tone: "quiet",
};

export function nameOf({ server_name: name }: Pick<ServerView, "server_name">): string {
  return shortText(name ?? "") || "unnamed";
}
