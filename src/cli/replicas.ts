import type { Command } from "commander";
import { listReplicas, type ReplicaView } from "../api/operations/replicas.ts";
import { callsOperation, timesCommand } from "./api-command.ts";
import { listText } from "./output.ts";
import type { Cell, Columns } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addReplicas(program: Command, terminal: Terminal): void {
  const command = timesCommand(
    program.command("replicas"),
    "list the replicas that share the store, and how much each owns",
  ).option("--units", "list what each owns, and since when");
  command.action(
    callsOperation(terminal, {
      operation: listReplicas,
      request: () => ({}),
      text: ({ replicas }, look) => {
        const nothing = "There are no replicas: no process with `cluster` runs on this store.";
        if (!command.opts()["units"]) return listText(replicas, nothing, null, columns, look);
        const units = replicas.flatMap(({ address, units: own }) =>
          own.map((unit) => ({ ...unit, address })),
        );
        return listText(units, "No replica owns anything.", null, unitColumns, look);
      },
    }),
  );
}

const columns: Columns<ReplicaView> = {
  replica: "address",
  state: stateCell,
  version: "version",
  configuration: ({ configuration }) =>
    configuration === "current" ? configuration : { text: configuration, color: "yellow" },
  started: ({ started_at: at }, { timeText }) => timeText(at),
  targets: "targets",
  receivers: ({ units }) => units.filter(({ unit }) => unit.startsWith("receiver:")).length,
  units: ({ units }) => units.length,
};

type OwnedUnit = ReplicaView["units"][number] & Pick<ReplicaView, "address">;

const unitColumns: Columns<OwnedUnit> = {
  unit: "unit",
  keys: ({ keys }) => keys.join(", "),
  replica: "address",
  since: ({ since }, { timeText }) => timeText(since),
};

function stateCell({ live }: ReplicaView): Cell {
  return live ? "live" : { text: "lease ended", color: "red" };
}
