import type { ServerView } from "../../api/operations/targets.ts";
import type { SandboxView } from "../../api/operations/sandboxes.ts";
import { counted } from "../../fleet/text.ts";
import { ageOf, html, type Html } from "../html.ts";
import { placeOf, renderFleetList, shortText, statusOf, type FleetList } from "./fleet-list.ts";
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
  const columns = [
    { head: "Server", sort: "name" },
    { head: "Status", sort: "status" },
    { head: "For", sort: "since" },
    { head: "Region / key", sort: "target" },
    { head: "Sandbox", sort: null },
    { head: "Tags, benchmark", sort: null },
  ];
  const rows = servers.map((server) => (attributes: Html) => serverRow(server, attributes, at));
  const look = {
    title: "Servers",
    one: "server",
    searched: "name, id, sandbox, tag or benchmark",
    columns,
    rows,
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

function serverRow(server: ServerView, attributes: Html, { nowMs }: PageAt): Html {
  const { region, key, sandbox_id: sandbox, tags, benchmark } = server;
  return html`<tr ${attributes}>
    ${serverCells(server, nowMs)}
    <td>${placeOf({ region, key })}</td>
    <td class="wide id">
      <a href="${sandboxAddress(server)}" title="${shortText(sandbox, 512)}"
        >${shortText(sandbox, longestId)}</a
      >
    </td>
    <td class="wide quiet">
      ${shortText([...tags, ...(benchmark === null ? [] : [benchmark])].join(", "))}
    </td>
  </tr> `;
}

/** Its name, its status and since when it has it. */
export function serverCells(server: ServerView, nowMs: number): Html {
  const { server_id: id, since } = server;
  return html`<th scope="row">
      <a href="${serverAddress(server)}">${nameOf(server)}</a>
      <span class="id" title="${shortText(id, 512)}">${shortText(id, longestId)}</span>
    </th>
    <td>${statusOf(server)}</td>
    <td>${ageOf(Date.parse(since), nowMs)}</td>`;
}

export function nameOf({ server_name: name }: Pick<ServerView, "server_name">): string {
  return shortText(name ?? "") || "unnamed";
}
