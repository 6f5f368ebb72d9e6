import { Option } from "commander";
import type { Command } from "commander";
import type { z } from "zod";
import { createApi } from "../api/operation.ts";
import { checkConformance } from "../api/operations/conformance.ts";
import type { ConformanceView } from "../api/operations/conformance.ts";
import { leavesUnencrypted, parseBaseUrl } from "../config/address.ts";
import { counted } from "../fleet/counted.ts";
import { Secret } from "../lib/secret.ts";
import { asCommandError, callOperation } from "./call.ts";
import type { ApiOptions } from "./call.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { apiOptions } from "./options.ts";
import { show } from "./output.ts";
import { renderTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

interface ConformanceOptions extends ApiOptions {
  readonly region?: string;
  readonly key?: string;
  readonly user?: string;
  readonly universe?: string;
  readonly client?: string;
  /** Any deployment, instead of a configured region. */
  readonly baseUrl?: string;
}

export function addConformance(program: Command, terminal: Terminal): void {
  apiOptions(program.command("conformance"))
    .description(
      "call every operation of the service once and compare the responses with the interface",
    )
    .option("--region <name>", "the region (default: the only one)")
    .option("--key <name>", "the key (default: the only one)")
    .option("--user <id>", "the id of a user to look up")
    .option("--universe <id>", "the id of a universe to look up (default: the first one listed)")
    .option("--client <id>", "the id of an OAuth client to look up")
    .addOption(
      new Option(
        "--base-url <address>",
        "the base address of a deployment, instead of a configuration; its API key is read from SANDWATCH_API_KEY",
      ).conflicts(["config", "url"]),
    )
    .action(async (options: ConformanceOptions) => {
      const { baseUrl, region, key, user, universe, client } = options;
      const request = { region, key, user, universe, client };
      const report =
        baseUrl === undefined
          ? await callOperation(options, terminal, checkConformance, request)
          : await checkDeployment(baseUrl, request);
      show(report, options, terminal, inWords);
      const { outside, failed } = report;
      const faults = [
        ...(outside > 0 ? [`${counted(outside, "place")} outside the interface`] : []),
        ...(failed > 0 ? [`${counted(failed, "operation")} without a response`] : []),
      ];
      if (faults.length === 0) return;
      const there = (outside || failed) === 1 ? "There is" : "There are";
      throw new CommandError(`${there} ${faults.join(" and ")}.`, exitCodes.failed);
    });
}

/** Holds the API key of `--base-url`: other users can read a command line. */
const apiKeyVariable = "SANDWATCH_API_KEY";

const deploymentPoll = {
  rateLimit: { requests: 2, perMs: 1_000 },
  timeoutMs: 30_000,
  maxBodyBytes: 64 * 2 ** 20,
};

async function checkDeployment(
  address: string,
  { region, key, ...ids }: z.input<typeof checkConformance.request>,
): Promise<ConformanceView> {
  if (region !== undefined || key !== undefined) {
    throw wrongUse("--region and --key are of a configuration: give them without --base-url.");
  }
  const baseUrl = parseBaseUrl(address);
  if (baseUrl === undefined) {
    throw wrongUse("--base-url must be an address such as https://api.example.com/v1.");
  }
  if (leavesUnencrypted(new URL(baseUrl))) {
    throw wrongUse("--base-url must be https: plain http would show the key on its way.");
  }
  const apiKey = process.env[apiKeyVariable];
  if (!apiKey) {
    throw wrongUse(`--base-url needs the API key in the environment variable ${apiKeyVariable}.`);
  }
  const { openService } = await import("../app/offline.ts");
  await using service = openService({
    regions: new Map([[baseUrl, { baseUrl }]]),
    keys: [{ name: "", apiKey: new Secret(apiKey), regions: [baseUrl] }],
    poll: deploymentPoll,
  });
  try {
    return { ...(await createApi(service.context)(checkConformance, ids)), key: null };
  } catch (error) {
    throw asCommandError(error);
  }
}

function wrongUse(message: string): CommandError {
  return new CommandError(message, exitCodes.wrongUse);
}

const verdicts = { agrees: "agrees", outside: "OUTSIDE", not_seen: "not seen" } as const;
const outcomes = {
  answered: "",
  outside: "OUTSIDE: ",
  failed: "no response: ",
  not_seen: "not seen: ",
} as const;

function inWords({ operations, agrees, outside, not_seen: unseen }: ConformanceView): string {
  const parts = operations.map(operationInWords);
  const counts = `${agrees} agree, ${outside} outside, ${unseen} not seen\n`;
  return [...parts, counts].join("\n");
}

function operationInWords({
  operation,
  outcome,
  detail,
  fields,
}: ConformanceView["operations"][number]): string {
  const head = `${operation}: ${outcomes[outcome]}${detail}\n`;
  if (fields.length === 0) return head;
  const rows = fields.map(({ verdict, ...each }) => [
    `  ${verdicts[verdict]}`,
    each.field,
    each.detail,
  ]);
  return head + renderTable(["  verdict", "field", "found"], rows);
}
