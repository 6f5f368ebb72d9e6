import { type Target, statuses, type Status } from "../fleet/model.ts";
import type { Sandbox, Server, Snapshot } from "../fleet/snapshot.ts";
import { byStatus } from "../fleet/tallies.ts";
import { escapeLabelValue, familyHeader, type ExpositionSyntax } from "./exposition-text.ts";
import { targetLabels } from "./target-families.ts";

/** A family with series for each server or sandbox: by far the most of a scrape. */
interface ServerFamily {
  readonly name: string;
  readonly help: string;
  /** The lines of one sandbox or its servers, after its labels without the closing brace. */
  readonly lines: (start: string, sandbox: Sandbox) => string;
}

/** In the order in which they are exposed. */
export const serverFamilies: readonly ServerFamily[] = [
  {
    name: "sandbox_server_status",
    help: "The status of a server: 1 for its status, 0 for the others.",
    lines: eachServer((start, { status }) => statusLines(start, status)),
  },
  {
    name: "sandbox_server_info",
    help: "Information about a server; always 1.",
    lines: eachServer((start, { name, benchmark }) => {
      const serverName = escapeLabelValue(name ?? "");
      return `${start},server_name="${serverName}",benchmark="${escapeLabelValue(benchmark ?? "")}"} 1\n`;
    }),
  },
  {
    name: "sandbox_server_status_since_timestamp_seconds",
    help: "When a server was first observed in its status, in seconds since 1970.",
    lines: eachServer((start, { since }) => `${start}} ${since.atMs / 1_000}\n`),
  },
  {
    name: "sandbox_status",
    help: "The status of a sandbox: 1 for its status, 0 for the others.",
    lines: (start, { status }) => statusLines(start, status),
  },
  {
    name: "sandbox_info",
    help: "Information about a sandbox; always 1.",
    lines: (start, { benchmark }) =>
      `${start},benchmark="${escapeLabelValue(benchmark ?? "")}"} 1\n`,
  },
  {
    name: "sandbox_status_since_timestamp_seconds",
    help: "When a sandbox was first observed in its status, in seconds since 1970.",
    lines: (start, { since }) => `${start}} ${since.atMs / 1_000}\n`,
  },
  {
    name: "sandbox_created_timestamp_seconds",
    help: "When the service created a sandbox, in seconds since 1970; absent if that cannot be read.",
    lines: (start, { createdAt }) => (createdAt === null ? "" : `${start}} ${createdAt / 1_000}\n`),
  },
];

/** A target's snapshot at one moment: it never changes, however long it takes to render it. */
interface ShownTarget {
  readonly target: Target;
  readonly snapshot: Snapshot;
}

/** The lines of the families, a text for each sandbox. */
export function* serverLines(
  shown: readonly ShownTarget[],
  families: readonly ServerFamily[],
  syntax: ExpositionSyntax,
): Iterable<string> {
  for (const { name, help, lines } of families) {
    yield familyHeader(syntax, name, help, "gauge");
    for (const { target, snapshot } of shown) {
      const start = `${name}{${targetLabels(target)},sandbox="`;
      for (const sandbox of snapshot.sandboxes) {
        yield lines(`${start}${escapeLabelValue(sandbox.id)}"`, sandbox);
      }
    }
  }
}

function eachServer(line: (start: string, server: Server) => string): ServerFamily["lines"] {
  return (start, { servers }) => {
    let text = "";
    for (const server of servers) {
      text += line(`${start},server="${escapeLabelValue(server.id)}"`, server);
    }
    return text;
  };
}

/** The ends of a subject's lines, by status. */
const oneHotEnds = byStatus((status) =>
  statuses.map((each) => `,status="${each}"} ${each === status ? 1 : 0}\n`),
);

function statusLines(start: string, status: Status): string {
  let text = "";
  for (const end of oneHotEnds[status]) text += start + end;
  return text;
}
