import { statuses } from "../core/model.ts";
import type { Target } from "../core/model.ts";
import type { ServerRow, Snapshot } from "../core/snapshot.ts";
import { escapeLabelValue, familyHeader } from "./exposition-text.ts";
import type { WatchedView } from "../core/watched-view.ts";

/**
 * The families with a series for each server or sandbox, as exposition text: by far the most of a
 * scrape. They are rendered straight from the snapshots, and a target that is withheld has none, so
 * that Prometheus marks its series stale. This function is the whole seam.
 */
export function* renderServerSeries(targets: readonly WatchedView[]): Iterable<string> {
  const shown = targets.filter(({ withheld }) => !withheld);
  for (const { name, help, render } of families) {
    yield familyHeader(name, help, "gauge");
    for (const { target, state } of shown) {
      yield* render(name, labelsOf(target), state.snapshot);
    }
  }
}

interface Family {
  readonly name: string;
  readonly help: string;
  /** `labels` are those of the target, without braces. */
  readonly render: (name: string, labels: string, snapshot: Snapshot) => Iterable<string>;
}

const families: readonly Family[] = [
  {
    name: "sandbox_server_status",
    help: "Whether a server is in a status, 1 for the one that it is in.",
    *render(name, labels, snapshot) {
      for (const server of snapshot.servers()) {
        const prefix = `${name}{${labels},${serverLabels(server)},status="`;
        let lines = "";
        for (const status of statuses) {
          lines += `${prefix}${status}"} ${status === server.status ? 1 : 0}\n`;
        }
        yield lines;
      }
    },
  },
  {
    name: "sandbox_server_info",
    help: "What is known of a server, always 1.",
    *render(name, labels, snapshot) {
      for (const server of snapshot.servers()) {
        const serverName = escapeLabelValue(server.serverName ?? "");
        const benchmark = escapeLabelValue(server.benchmark ?? "");
        yield `${name}{${labels},${serverLabels(server)},server_name="${serverName}",benchmark="${benchmark}"} 1\n`;
      }
    },
  },
  {
    name: "sandbox_server_status_since_timestamp_seconds",
    help: "When a server was first seen in the status that it is in, in seconds since 1970.",
    *render(name, labels, snapshot) {
      for (const server of snapshot.servers()) {
        yield `${name}{${labels},${serverLabels(server)}} ${server.sinceMs / 1_000}\n`;
      }
    },
  },
  {
    name: "sandbox_status",
    help: "Whether a sandbox is in a status, 1 for the one that it is in.",
    *render(name, labels, snapshot) {
      for (const sandbox of snapshot.sandboxes()) {
        const prefix = `${name}{${labels},sandbox="${escapeLabelValue(sandbox.sandboxId)}",status="`;
        let lines = "";
        for (const status of statuses) {
          lines += `${prefix}${status}"} ${status === sandbox.status ? 1 : 0}\n`;
        }
        yield lines;
      }
    },
  },
];

function labelsOf({ region, key }: Target): string {
  return `region="${escapeLabelValue(region)}",key="${escapeLabelValue(key)}"`;
}

function serverLabels({ sandboxId, serverId }: ServerRow): string {
  return `sandbox="${escapeLabelValue(sandboxId)}",server="${escapeLabelValue(serverId)}"`;
}
