import { searchServers } from "../../api/operations/search-servers.ts";
import { showTimeline } from "../../api/operations/show-timeline.ts";
import type { ServerView } from "../../api/operations/targets.ts";
import { html, table, type Html } from "../html.ts";
import { band, type Timeline } from "./band.ts";
import { statusChips } from "./fleet-list.ts";
import type { PageDeps } from "./page-route.ts";
import { serverAddress } from "./servers-address.ts";
import { serverColumns } from "./servers.ts";

const mostServers = 5;
/** In a band of a day, it is not seen that it is this old. */
const bandsKeptMs = 30_000;

/** The card of the overview: a search of servers, how many there are in each status, and the worst of them. */
export function createServersCard({ call }: Pick<PageDeps, "call">) {
  let kept = new Map<string, { readonly timeline: Timeline; readonly readAtMs: number }>();
  const timelineOf = async (server: ServerView, nowMs: number) => {
    const name = JSON.stringify([serverAddress(server), server.status, server.since, server.stale]);
    const known = kept.get(name);
    if (known && nowMs - known.readAtMs < bandsKeptMs) return { name, ...known };
    const { region, key, sandbox_id: sandbox, server_id: id } = server;
    const request = { region, key, sandbox, server: id };
    const timeline = await call(showTimeline, request);
    return { name, timeline, readAtMs: nowMs };
  };
  return async (nowMs: number, label: readonly string[] = []): Promise<Html> => {
    const asked = { label, limit: mostServers };
    const found = await call(searchServers, asked);
    const bands = await Promise.all(found.servers.map((server) => timelineOf(server, nowMs)));
    kept = new Map(bands.map(({ name, ...each }) => [name, each]));
    const rows = found.servers.map((server, index) => {
      const timeline = bands[index]?.timeline;
      return { ...server, drawn: timeline ? band(timeline, "The last 24 hours") : "" };
    });
    const columns = [
      ...serverColumns({ nowMs }),
      {
        head: "Last 24 hours",
        isWide: true,
        tone: "bands",
        cell: ({ drawn }: (typeof rows)[number]) => drawn,
      },
    ];
    return html`<section class="card" id="servers" data-live aria-labelledby="servers-title">
      <div class="head">
        <h2 id="servers-title">Servers</h2>
        <form class="find" action="servers" role="search">
          <input
            type="search"
            name="q"
            aria-label="Search servers"
            placeholder="Search ${found.total} servers: name, id, sandbox, tag"
            maxlength="1000"
          />
        </form>
        ${statusChips("servers", found, label)}
      </div>
      ${
        rows.length === 0
          ? html`<p class="quiet">No server is known yet.</p>`
          : table(rows, columns, { attributes: html`class="servers"` })
      }
    </section>`;
  };
}
