import type { SandboxView } from "../../api/operations/sandboxes.ts";
import { counted } from "../../fleet/text.ts";
import { countByStatus } from "../../fleet/tallies.ts";
import { ageOf, html, type Html } from "../html.ts";
import { placeOf, renderFleetList, shortText, statusOf, type FleetList } from "./fleet-list.ts";
import { presentTotals } from "./fleet-totals.ts";
import type { PageAt } from "./layout.ts";
import { sandboxAddress } from "./servers-address.ts";
import { statusBar } from "./status-bar.ts";

const longestId = 40;

export function renderSandboxes(
  list: FleetList,
  sandboxes: readonly SandboxView[],
  at: PageAt,
): string {
  const columns = [
    { head: "Sandbox", sort: "id" },
    { head: "Status", sort: "status" },
    { head: "For", sort: "since" },
    { head: "Region / key", sort: "target" },
    { head: "Servers", sort: null },
    { head: "Age", sort: "created" },
    { head: "Benchmark", sort: null },
  ];
  const rows = sandboxes.map(
    (sandbox) => (attributes: Html) => sandboxRow(sandbox, attributes, at),
  );
  const look = {
    title: "Sandboxes",
    one: "sandbox",
    searched: "id, benchmark, or name, id or tag of a server",
    columns,
    rows,
    also: "",
  } as const;
  return renderFleetList(list, look, at);
}

function sandboxRow(sandbox: SandboxView, attributes: Html, { nowMs }: PageAt): Html {
  const {
    region,
    key,
    sandbox_id: id,
    since,
    created_at: created,
    benchmark,
    servers,
    stale,
  } = sandbox;
  return html`<tr ${attributes}>
    <th scope="row">
      <a class="id" href="${sandboxAddress(sandbox)}" title="${shortText(id, 512)}"
        >${shortText(id, longestId)}</a
      >
      <small>${serversText(sandbox)}</small>
    </th>
    <td>${statusOf(sandbox)}</td>
    <td>${ageOf(Date.parse(since), nowMs)}</td>
    <td>${placeOf({ region, key })}</td>
    <td class="wide bars">${statusBar(presentTotals(servers, stale))}</td>
    <td class="wide">${created === null ? "" : ageOf(Date.parse(created), nowMs)}</td>
    <td class="wide quiet">${shortText(benchmark ?? "")}</td>
  </tr> `;
}

export function serversText({ servers }: SandboxView): string {
  return counted(countByStatus(servers), "server");
}
