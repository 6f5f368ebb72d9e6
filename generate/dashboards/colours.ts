import type { ValueMapping } from "@grafana/grafana-foundation-sdk/dashboard";
import { MappingType } from "@grafana/grafana-foundation-sdk/dashboard";
import { statuses } from "../../src/fleet/model.ts";
import type { Status } from "../../src/fleet/model.ts";

/** The colour of each status, wherever it is shown. */
export const statusColours: Readonly<Record<Status, string>> = {
  idle: "green",
  occupied: "blue",
  error: "red",
  unknown: "#8e9297",
};

/** Neither is a status: whether something is as it should be. */
const well = "super-light-green";
export const unwell = "orange";

/** A status as a number, for panels that can show nothing else. */
export function numberOf(status: Status): number {
  return statuses.indexOf(status) + 1;
}

/** What such a number is shown as. */
export const statusMapping: ValueMapping = {
  type: MappingType.ValueToText,
  options: Object.fromEntries(
    statuses.map((status, index) => [
      String(numberOf(status)),
      { text: status, color: statusColours[status], index },
    ]),
  ),
};

/** What a metric is shown as that is 1 when all is well, and 0 otherwise. */
export function wellness(textOfWell: string, textOfUnwell: string): ValueMapping {
  return {
    type: MappingType.ValueToText,
    options: {
      "1": { text: textOfWell, color: well, index: 0 },
      "0": { text: textOfUnwell, color: unwell, index: 1 },
    },
  };
}
