import { transitions } from "../draw/schedule.ts";
import type { ScenarioProbe } from "../draw/probes.ts";
import { listingPath, roamer } from "../scenario.ts";
import { ignoresTotalCount, isRefusal, ofListings, ofVerdicts } from "./mutation.ts";
import type { Mutation, NegativeControl } from "./mutation.ts";

interface ListedSandbox {
  servers: readonly { readonly id: string }[];
}

const ofProbes = (change: (probe: ScenarioProbe) => ScenarioProbe): Mutation => ({
  configured: (configured) => ({ ...configured, probes: configured.probes.map(change) }),
});

const oddItem = /\{"(?:local_sandbox_)?id":"[^"]*\\u0000[^"]*"[^{}]*\}/.source;

/** Daemons that ask the service too often or too rarely, or misread its answers. */
export const serviceControls: readonly NegativeControl[] = [
  {
    name: "decodes nothing",
    from: 4,
    caughtAs: /was abandoned/,
    mutation: {
      answer: ({ headers = {}, ...answer }) => ({
        ...answer,
        headers: "content-encoding" in headers ? { ...headers, "content-encoding": "x" } : headers,
      }),
    },
  },
  {
    name: "takes a partial listing for a complete one",
    from: 2,
    caughtAs: /changes invent .*"absent"/,
    mutation: ignoresTotalCount,
  },
  {
    name: "keeps a server that moved in the first sandbox of the listing",
    from: 9,
    caughtAs: /changes (lack|invent) .*"box-\d roamer"/,
    mutation: ofListings((body) => {
      if (!body.includes(`"id":"${roamer}"`)) return body;
      const listing: { readonly local_sandboxes: readonly (ListedSandbox | null)[] } =
        JSON.parse(body);
      const sandboxes = listing.local_sandboxes.filter((each) => each !== null);
      const moved = sandboxes.flatMap(({ servers }) => servers.filter(({ id }) => id === roamer));
      for (const [at, sandbox] of sandboxes.entries()) {
        const others = sandbox.servers.filter(({ id }) => id !== roamer);
        sandbox.servers = at === 0 ? [...others, ...moved] : others;
      }
      return JSON.stringify(listing);
    }),
  },
  {
    name: "takes a server that moved for the same server",
    from: 9,
    caughtAs: /changes lack .*"box-\d roamer".*"absent"/,
    mutation: ofVerdicts((verdict) => {
      const changes = verdict.diff.changes.filter(
        ({ before, after }) =>
          (before !== null && after !== null) || (before ?? after)?.id !== roamer,
      );
      return { ...verdict, diff: { ...verdict.diff, changes } };
    }),
  },
  {
    name: "ignores new names",
    from: 1,
    caughtAs: /buckets of/,
    mutation: ofListings((body) =>
      body.replaceAll(/"server_name":"tool-[^"]*"/g, `"server_name":"tool-1"`),
    ),
  },
  {
    name: "drops ids that cannot be kept",
    from: 2,
    caughtAs: /changes (lack|invent)|buckets of/,
    mutation: ofListings((body) => body.replace(new RegExp(`,${oddItem}|${oddItem},?`), "")),
  },
  {
    name: "takes an unknown status for a recovery",
    from: 27,
    caughtAs: /was resolved/,
    mutation: ofListings((body) =>
      body.replaceAll(/"status":(?:null|"resting")/g, `"status":"idle"`),
    ),
  },
  {
    name: "polls twice as often",
    from: 27,
    caughtAs: /was polled \d+ times .* more often/,
    mutation: {
      configured: (configured) => ({ ...configured, intervalMs: configured.intervalMs / 2 }),
    },
  },
  {
    name: "does not poll in the hour that comes twice",
    from: 37,
    caughtAs: /did not ask for .*, though a poll was due/,
    mutation: {
      asks: (now) => !transitions.some(({ utcMs, byMs }) => now >= utcMs && now < utcMs - byMs),
    },
  },
  {
    name: "takes its schedule to be in UTC",
    from: 16,
    caughtAs: /more often than it was due/,
    mutation: {
      configured: ({ schedule, ...configured }) => ({
        ...configured,
        schedule: schedule && { ...schedule, timeZone: "UTC" },
      }),
    },
  },
  {
    name: "sends more than the limit of its key",
    from: 35,
    caughtAs: /sent more than \d+ requests/,
    mutation: {
      configured: (configured) => ({ ...configured, rateLimit: { requests: 100, perMs: 1_000 } }),
    },
  },
  {
    name: "ignores Retry-After",
    from: 2,
    caughtAs: /after a Retry-After of \d+ ms/,
    mutation: { answer: (answer) => ({ ...answer, headers: {} }) },
  },
  {
    name: "asks at every poll with a key that is refused",
    from: 19,
    caughtAs: /had refused the key \d+ times in a row/,
    mutation: { answer: (answer) => (isRefusal(answer) ? { ...answer, status: 404 } : answer) },
  },
  {
    name: "does not poll for an hour after a key was refused",
    from: 2,
    caughtAs: /did not ask for/,
    mutation: {
      answer: (answer) =>
        isRefusal(answer) ? { ...answer, status: 503, headers: { "retry-after": "3600" } } : answer,
    },
  },
  {
    name: "runs probes twice as often",
    from: 51,
    caughtAs: /\/.* of .* was polled \d+ times/,
    mutation: ofProbes((probe) => ({ ...probe, everyMs: probe.everyMs / 2 })),
  },
  {
    name: "runs probes rarely",
    from: 51,
    caughtAs: /did not ask for \/.* of/,
    mutation: ofProbes((probe) => ({ ...probe, everyMs: 20 * probe.everyMs })),
  },
  {
    name: "expects nothing of the answers to probes",
    from: 93,
    caughtAs: /probe .*: (incident|nobody)/,
    mutation: ofProbes((probe) => ({ ...probe, expects: "anything" })),
  },
  {
    name: "probes at every run with a key that is refused",
    from: 93,
    caughtAs: /\/.* of .* had refused the key \d+ times in a row/,
    mutation: {
      answer: (answer, path) =>
        path !== listingPath && isRefusal(answer) ? { ...answer, status: 404 } : answer,
    },
  },
  {
    name: "ignores Retry-After in answers to probes",
    from: 93,
    caughtAs: /after a Retry-After of \d+ ms/,
    mutation: {
      answer: (answer, path) => (path === listingPath ? answer : { ...answer, headers: {} }),
    },
  },
];
