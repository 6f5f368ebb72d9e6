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
which are told of as a whole. Left out, it is region,key.`;

/** Adds the commands that tell how busy servers were. */
export function addReportCommands(program: Command, terminal: Terminal): void {
  forDesk(program.command("report"))
    .description("how busy servers were, and how well: of a week, by hours, by name, as you like")
    .requiredOption(
      "--from <time>",
      "2026-11-01, 2026-11-01T10:00, 7d ago, or a whole yesterday, last week, last month",
    )
    .option("--to <time>", "up to when; left out: now, or the end of what --from names")
    .option("--by <fields>", "what each row is of, several with commas")
    .option("--tz <zone>", "whose hours and days, such as Europe/Berlin; left out: UTC")
    .option("--region <names>", "of these regions alone; several with commas")
    .option("--key <names>", "of these keys alone; several with commas")
    .addOption(
      new Option("--format <format>", "openmetrics is for promtool, to backfill Prometheus")
        .choices(["table", "csv", "json", "openmetrics"])
        .conflicts("json"),
    )
    .addOption(
      new Option(
        "--resolution <size>",
        "how far apart samples of openmetrics are: 1h, if not said",
      ).choices(resolutions),
    )
    .addHelpText("after", examples)
    .action(async (options) => (await import("./report.ts")).report(options, terminal));

  forDesk(program.command("insights"))
    .description(
      "what stands out: the busiest hour, what errs, runs out, stays long, and a forecast",
    )
    .option("--from <time>", "since when, as for a report; left out: 28 days ago")
    .option("--to <time>", "up to when; left out: now, or the end of what --from names")
    .option("--tz <zone>", "whose hours, such as Europe/Berlin; left out: UTC")
    .option("--region <names>", "of these regions alone; several with commas")
    .option("--key <names>", "of these keys alone; several with commas")
    .option("--threshold <share>", "of which occupied share a forecast is made; left out: 0.9")
    .action(async (options) => (await import("./insights.ts")).insights(options, terminal));
}
