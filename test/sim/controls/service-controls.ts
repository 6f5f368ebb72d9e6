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
export const serviceControls: Readonly<Record<string, NegativeControl>> = {
  "decodes nothing": {
    from: 9,
    caughtAs: /was abandoned/,
    answer: ({ headers = {}, ...answer }) => ({
      ...answer,
      headers: "content-encoding" in headers ? { ...headers, "content-encoding": "x" } : headers,
    }),
  },
  "takes a partial listing for a complete one": {
    from: 104,
    caughtAs: /changes invent .*"absent"/,
    ...ignoresTotalCount,
  },
  "keeps a server that moved in the first sandbox of the listing": {
    from: 50,
    caughtAs: /changes (lack|invent) .*"box-\d roamer"/,
    ...ofListings((body) => {
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
  "takes a server that moved for the same server": {
    from: 50,
    caughtAs: /changes lack .*"box-\d roamer".*"absent"/,
    ...ofVerdicts((verdict) => {
      const { changes, servers } = verdict.diff;
      const isKept = ({ before, after }: (typeof servers)[number]): boolean =>
        (before !== null && after !== null) || (before ?? after)?.id !== roamer;
      const diff = { changes: changes.filter(isKept), servers: servers.filter(isKept) };
      return { ...verdict, diff: { ...verdict.diff, ...diff } };
    }),
  },
  "drops ids that cannot be kept": {
    from: 40,
    caughtAs: /changes (lack|invent)/,
    ...ofListings((body) => body.replace(new RegExp(`,${oddItem}|${oddItem},?`), "")),
  },
  "takes an unknown status for a recovery": {
    from: 102,
    caughtAs: /was resolved/,
    ...ofListings((body) => body.replaceAll(/"status":(?:null|"resting")/g, `"status":"idle"`)),
  },
  "polls twice as often": {
    from: 50,
    caughtAs: /was polled \d+ times .* more often/,
    configured: (configured) => ({ ...configured, intervalMs: configured.intervalMs / 2 }),
  },
  "does not poll in the hour that comes twice": {
    from: 61,
    caughtAs: /did not ask for .*, though a poll was due/,
    asks: (now) => !transitions.some(({ utcMs, byMs }) => now >= utcMs && now < utcMs - byMs),
  },
  "takes its schedule to be in UTC": {
    from: 118,
    caughtAs: /more often than it was due/,
    configured: ({ schedule, ...configured }) => ({
      ...configured,
      schedule: schedule && { ...schedule, timeZone: "UTC" },
    }),
  },
  "sends more than the limit of its key": {
    from: 50,
    caughtAs: /sent more than \d+ requests/,
    configured: (configured) => ({ ...configured, rateLimit: { requests: 100, perMs: 1_000 } }),
  },
  "ignores Retry-After": {
    from: 51,
    caughtAs: /after a Retry-After of \d+ ms/,
    answer: (answer) => ({ ...answer, headers: {} }),
  },
  "asks at every poll with a key that is refused": {
    from: 99,
    caughtAs: /had refused the key \d+ times in a row/,
    answer: (answer) => (isRefusal(answer) ? { ...answer, status: 404 } : answer),
  },
  "does not poll for an hour after a key was refused": {
    from: 50,
    caughtAs: /did not ask for/,
    answer: (answer) =>
      isRefusal(answer) ? { ...answer, status: 503, headers: { "retry-after": "3600" } } : answer,
  },
  "runs probes twice as often": {
    from: 50,
    caughtAs: /\/.* of .* was polled \d+ times/,
    ...ofProbes((probe) => ({ ...probe, everyMs: probe.everyMs / 2 })),
  },
  "runs probes rarely": {
    from: 50,
    caughtAs: /did not ask for \/.* of/,
    ...ofProbes((probe) => ({ ...probe, everyMs: 20 * probe.everyMs })),
  },
  "expects nothing of the answers to probes": {
    from: 43,
    caughtAs: /probe .*: (incident|nobody)/,
    ...ofProbes((probe) => ({ ...probe, expects: "anything" })),
  },
  "probes at every run with a key that is refused": {
    from: 48,
    caughtAs: /\/.* of .* had refused the key \d+ times in a row/,
    answer: (answer, path) =>
      path !== listingPath && isRefusal(answer) ? { ...answer, status: 404 } : answer,
  },
  "ignores Retry-After in answers to probes": {
    from: 51,
    caughtAs: /after a Retry-After of \d+ ms/,
    answer: (answer, path) => (path === listingPath ? answer : { ...answer, headers: {} }),
  },
};
