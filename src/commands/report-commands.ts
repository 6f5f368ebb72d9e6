import { Option } from "commander";
import type { Command } from "commander";
import { resolutions } from "../fleet/buckets.ts";
import { forDesk } from "./desk-options.ts";
import type { Terminal } from "./terminal.ts";

const examples = `
Examples:
  sandwatch report --config FILE --from 7d
  sandwatch report --config FILE --from "last month" --by server_name
  sandwatch report --config FILE --from yesterday --by hour --tz Europe/Berlin --format csv

--by takes region, key, server_name, hour, day and weekday in any combination, or sandbox or server,
which cannot be combined with hour, day and weekday. Default: region,key.`;

/** Adds the commands that tell how busy servers were. */
export function addReportCommands(program: Command, terminal: Terminal): void {
  forDesk(program.command("report"))
    .description("report occupancy and errors of servers")
    .requiredOption(
      "--from <time>",
      "the start: a time such as 2026-11-01T10:00, a duration ago such as 7d, or a period such as last week",
    )
    .option("--to <time>", "the end (default: now, or the end of the period that --from names)")
    .option(
      "--by <fields>",
      "the fields that rows are grouped by, separated by commas (default: region,key)",
    )
    .option("--tz <zone>", "the time zone of hours and days, such as Europe/Berlin (default: UTC)")
    .option("--region <names>", "only these regions, separated by commas")
    .option("--key <names>", "only these keys, separated by commas")
    .addOption(
      new Option(
        "--format <format>",
        "the output format; openmetrics is for backfilling Prometheus with promtool",
      )
        .choices(["table", "csv", "json", "openmetrics"])
        .conflicts("json"),
    )
    .addOption(
      new Option(
        "--resolution <size>",
        "the distance of the samples of openmetrics (default: 1h)",
      ).choices(resolutions),
    )
    .addHelpText("after", examples)
    .action(async (options) => (await import("./report.ts")).report(options, terminal));

  forDesk(program.command("insights"))
    .description("show the busiest hour, most frequent errors, long occupations and a forecast")
    .option("--from <time>", "the start, as for a report (default: 28d)")
    .option("--to <time>", "the end (default: now, or the end of the period that --from names)")
    .option("--tz <zone>", "the time zone of hours, such as Europe/Berlin (default: UTC)")
    .option("--region <names>", "only these regions, separated by commas")
    .option("--key <names>", "only these keys, separated by commas")
    .option("--threshold <share>", "the occupied share that the forecast is about (default: 0.9)")
    .action(async (options) => (await import("./insights.ts")).insights(options, terminal));
}
