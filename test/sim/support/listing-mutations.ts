import { roamer } from "../scenario.ts";
import { ofStore } from "./mutations.ts";
import type { Mutation } from "./mutations.ts";

/** Reads something else than a listing says, where it comes whole and is not encoded. */
function reads(change: (body: string) => string): Mutation {
  return {
    answer(answer, path) {
      const { headers, breaksAfter, chunks } = answer;
      const isPlain = headers?.["content-encoding"] === undefined && breaksAfter === undefined;
      if (path !== "/local-sandbox" || !isPlain) return answer;
      const body = Buffer.concat(chunks.map((chunk) => Buffer.from(chunk))).toString("utf8");
      const changed = change(body);
      return changed === body ? answer : { ...answer, chunks: [changed] };
    },
  };
}

/** Drops ids with a NUL character, and takes the rest for the whole listing. */
export const dropsOddIds = reads((body) => {
  const odd = /\{"(?:local_sandbox_)?id":"[^"]*\\u0000[^"]*"[^{}]*\}/.source;
  return body.replace(new RegExp(`,${odd}|${odd},?`), "");
});

/** Whatever the listing says of how many there are. */
export const countsByItself = reads((body) => {
  const listed = body.match(/"local_sandbox_id"/g)?.length ?? 0;
  return body.replace(/"total_count":[^}]*/, `"total_count":${listed}`);
});

export const ignoresNewNames = reads((body) =>
  body.replaceAll(/"server_name":"tool-[^"]*"/g, `"server_name":"tool-1"`),
);

export const takesUnknownForRecovery = reads((body) =>
  body.replaceAll(/"status":(?:null|"resting")/g, `"status":"idle"`),
);

interface ListedSandbox {
  servers: readonly { readonly id: string }[];
}

/** Keeps the server that moves in the first sandbox of the listing, whichever lists it. */
export const keepsMovedServers = reads((body) => {
  if (!body.includes(`"id":"${roamer}"`)) return body;
  const listing: { readonly local_sandboxes: readonly (ListedSandbox | null)[] } = JSON.parse(body);
  const sandboxes = listing.local_sandboxes.filter((each) => each !== null);
  const moved = sandboxes.flatMap(({ servers }) => servers.filter(({ id }) => id === roamer));
  for (const [at, sandbox] of sandboxes.entries()) {
    const others = sandbox.servers.filter(({ id }) => id !== roamer);
    sandbox.servers = at === 0 ? [...others, ...moved] : others;
  }
  return JSON.stringify(listing);
});

/** Takes a server that moved for the same server: its going and coming are no changes. */
export const recordsNoMoves = ofStore((store) => ({
  ...store,
  commitPoll(targetId, verdict) {
    const changes = verdict.diff.changes.filter(
      ({ before, after }) =>
        (before !== null && after !== null) || (before ?? after)?.id !== roamer,
    );
    return store.commitPoll(targetId, { ...verdict, diff: { ...verdict.diff, changes } });
  },
}));
