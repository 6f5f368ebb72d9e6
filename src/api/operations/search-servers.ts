import { z } from "zod";
import { searchedServers, serverSorts } from "../../fleet/fleet-search.ts";
import type { FleetContext } from "../context.ts";
import { listed } from "../fields.ts";
import { isInServer, oneOfSome, searchFields, searchResponse } from "../fleet-lists.ts";
import { searchTargets, serverFilter, sortField, wordsOf } from "../fleet-lists.ts";
import { matchNotes } from "../match-notes.ts";
import { defineQuery } from "../operation.ts";
import { serverView, viewServer } from "./targets.ts";

export const searchServers = defineQuery({
  name: "searchServers",
  path: "/servers/search",
  summary: "Servers that match words and filters, in a chosen order, with how many there are",
  request: z.strictObject({ ...searchFields, sort: sortField(serverSorts).default("status") }),
  response: z.object({ servers: listed(serverView), ...searchResponse }),
  async handle(context: FleetContext, { q, server_name, tag, benchmark, ...query }) {
    const { region, key } = query;
    const words = wordsOf(q);
    const isChosen = serverFilter(server_name, tag);
    const hasBenchmark = oneOfSome(benchmark);
    const { found, items } = await searchTargets(
      context.targets,
      searchedServers,
      query,
      (server, sandbox) =>
        isChosen(server) &&
        hasBenchmark(server.benchmark) &&
        words.every((word) => isInServer(word, server) || word.test(sandbox.id)),
    );
    return {
      ...found,
      servers: items.map(viewServer),
      notes: matchNotes(context, { region, key }),
    };
  },
});
