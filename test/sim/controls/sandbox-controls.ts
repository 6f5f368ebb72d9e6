import type { IncidentOutcome } from "../../../src/alerts/incident-engine.ts";
import {
  ofIncidents,
  ofListings,
  ofVerdicts,
  type Mutation,
  type NegativeControl,
} from "./mutation.ts";

interface ListedSandbox {
  status?: string | null;
  readonly servers: readonly { readonly status?: string | null }[];
}

/** Reads another status of a sandbox that states none. */
const ofSilentSandboxes = (statusOf: (sandbox: ListedSandbox) => string | undefined): Mutation =>
  ofListings((body) => {
    if (!body.startsWith('{"local_sandboxes"')) return body;
    const listing: { readonly local_sandboxes: readonly (ListedSandbox | null)[] } =
      JSON.parse(body);
    for (const sandbox of listing.local_sandboxes) {
      const status = sandbox && (sandbox.status ?? statusOf(sandbox));
      if (status) sandbox.status = status;
    }
    return JSON.stringify(listing);
  });

const isOfSandbox = ({ subject }: IncidentOutcome["written"][number]): boolean =>
  subject.kind === "sandbox";

/** Daemons that misjudge sandboxes, whose servers they judge right. */
export const sandboxControls: Readonly<Record<string, NegativeControl>> = {
  "takes the status that a sandbox does not state for a recovery": {
    from: 1,
    caughtAs: /^sandbox-\w+ .*was resolved/,
    ...ofSilentSandboxes(() => "idle"),
  },
  "speaks for a sandbox that has stated a status": {
    from: 1,
    caughtAs: /^sandbox-\w+ .*(was resolved|did not start)/,
    ...ofSilentSandboxes(({ servers }) =>
      ["error", "occupied", "idle"].find((each) => servers.some(({ status }) => status === each)),
    ),
  },
  "does not inhibit the incident of a sandbox by that of its server": {
    from: 54,
    caughtAs: /of \S+ box-\d was notified to .*, though another incident explains it/,
    ...ofIncidents(({ written, steps }) => {
      const inhibited = new Set(
        steps.flatMap(({ step, incident }) => (step === "inhibited" ? [incident.id] : [])),
      );
      return {
        written: written.map((each) =>
          isOfSandbox(each) && inhibited.has(each.id)
            ? { ...each, receivers: ["oncall", "team", "board"] }
            : each,
        ),
      };
    }),
  },
  "forgets at a restart who has stated a status": {
    from: 53,
    caughtAs: /changes (lack|invent) .*"box-\d/,
    between: "update sandboxes set stated_status = null; update servers set has_stated = 0",
  },
  "notifies of no sandbox": {
    from: 50,
    caughtAs: /^sandbox-\w+ .*nobody was notified/,
    ...ofIncidents(({ outbox }) => ({
      outbox: outbox.filter(({ incident }) => incident.subject !== "sandbox"),
    })),
  },
  "records no change of a sandbox": {
    from: 50,
    caughtAs: /changes lack .*"box-\d"/,
    ...ofVerdicts((verdict) => {
      const sandboxes = verdict.diff.sandboxes.filter(({ kind }) => kind !== "changed");
      return { ...verdict, diff: { ...verdict.diff, sandboxes } };
    }),
  },
};
