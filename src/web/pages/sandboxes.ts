import type { SandboxView } from "../../api/operations/sandboxes.ts";
import { counted } from "../../fleet/text.ts";
import { countByStatus } from "../../fleet/tallies.ts";
import { ageOf, html } from "../html.ts";
import { placeOf, renderFleetList, shortText, statusOf } from "./fleet-list.ts";
import type { FleetList, SortedColumn } from "./fleet-list.ts";
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
  const look = {
    title: "Sandboxes",
    one: "sandbox",
    searched: "id, benchmark, or name, id or tag of a server",
    columns: columnsAt(at),
    rows: sandboxes,
    also: "",
  } as const;
  return renderFleetList(list, look, at);
}

const columnsAt = ({ nowMs }: PageAt): readonly SortedColumn<SandboxView>[] => [
  {
    head: "Sandbox",
    sort: "id",
    isHead: true,
    cell(sandbox) {
      const { sandbox_id: id, servers } = sandbox;
      return html`<a class="id" href="${sandboxAddress(sandbox)}" title="${shortText(id, 512)}"
          >${shortText(id, longestId)}</a
        >
        <small>${counted(countByStatus(servers), "server")}</small>`;
    },
  },
  { head: "Status", sort: "status", cell: statusOf },
  { head: "For", sort: "since", cell: ({ since }) => ageOf(Date.parse(since), nowMs) },
  { head: "Region / key", sort: "target", cell: placeOf },
  {
    head: "Servers",
    isWide: true,
    tone: "bars",
    cell: ({ servers, stale }) => statusBar(presentTotals(servers, stale)),
  },
  {
    head: "Age",
    sort: "created",
    isWide: true,
    cell: ({ created_at: at }) => (at === null ? "" : ageOf(Date.parse(at), nowMs)),
  },
  {
    head: "Benchmark",
    isWide: true,
    tone: "quiet",
    cell: ({ benchmark }) => shortText(benchmark ?? ""),
  },
];
