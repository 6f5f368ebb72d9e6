import { Option } from "commander";
import type { Command, OptionValues } from "commander";
import { createApi } from "../api/operation.ts";
import { checkConformance } from "../api/operations/conformance.ts";
import type { ConformanceView } from "../api/operations/conformance.ts";
import { leavesUnencrypted, parseBaseUrl } from "../config/address.ts";
import { routeOfEnvironment } from "../config/schema-outbound.ts";
import { Secret } from "../lib/secret.ts";
import { apiCommand } from "./api-command.ts";
import { callOperation } from "./call-api.ts";
import { CommandError, wrongUse } from "./exit-codes.ts";
import { lookOf, type Look } from "./look.ts";
import { show } from "./output.ts";
import { renderTable, type Columns } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addConformance(program: Command, terminal: Terminal): void {
  const description =
    "call every operation of the service once and compare the responses with the interface";
  apiCommand(program.command("conformance"), description)
    .option("--region <name>", "the region (default: the only one)")
    .option("--key <name>", "the key (default: the only one)")
    .option("--user <id>", "the id of a user to look up")
    .option("--universe <id>", "the id of a universe to look up (default: the first one listed)")
    .option("--client <id>", "the id of an OAuth client to look up")
    .addOption(
      new Option(
        "--base-url <address>",
        `the base address of a deployment, instead of a configuration; its API key is read from ${apiKeyVariable}`,
      ).conflicts(["config", "url", "region", "key"]),
    )
    .action(async ({ config, url, json, tokenFile, baseUrl, ...request }) => {
      const options = { config, url, json, tokenFile };
      const report: ConformanceView =
        baseUrl === undefined
          ? await callOperation(options, terminal, checkConformance, request)
          : await checkDeployment(baseUrl, request);
      show(report, options, terminal, (each) => reportText(each, lookOf(terminal)));
      const { outside, failed } = report;
      if (outside + failed === 0) return;
      const counts = `deviations from the interface: ${outside}; without a response: ${failed}`;
      throw new CommandError(counts);
    });
}

/** Holds the API key of `--base-url`: other users can read a command line. */
const apiKeyVariable = "SANDWATCH_API_KEY";

async function checkDeployment(address: string, ids: OptionValues): Promise<ConformanceView> {
  const baseUrl = parseBaseUrl(address);
  if (baseUrl === undefined) {
    throw wrongUse("--base-url must be an address such as https://api.example.com/v1.");
  }
  if (leavesUnencrypted(new URL(baseUrl))) {
    throw wrongUse("--base-url must be https: with http the key would be sent unencrypted.");
  }
  const apiKey = process.env[apiKeyVariable];
  if (!apiKey) {
    throw wrongUse(`--base-url needs the API key in the environment variable ${apiKeyVariable}.`);
  }
  const route = routeOfEnvironment(process.env);
  if (!route) {
    throw wrongUse("HTTPS_PROXY must be the http or https address of a proxy, or empty.");
  }
  const { openService } = await import("../app/offline.ts");
  await using service = openService({
    regions: new Map([[baseUrl, { baseUrl, route }]]),
    keys: [{ name: "", apiKey: new Secret(apiKey), labels: new Map(), regions: [baseUrl] }],
    poll: {
      rateLimit: { requests: 2, perMs: 1_000 },
      timeoutMs: 30_000,
      maxBodyBytes: 64 * 2 ** 20,
    },
  });
  return { ...(await createApi(service.context)(checkConformance, ids)), key: null };
}

const verdicts = { agrees: "agrees", outside: "DEVIATES", not_seen: "not seen" } as const;
const outcomes = {
  answered: "",
  outside: "DEVIATES: ",
  failed: "no response: ",
  not_seen: "not seen: ",
} as const;

function reportText(
  { operations, agrees, outside, not_seen: unmet }: ConformanceView,
  look: Look,
): string {
  const parts = operations.map(({ operation, outcome, detail, fields }) => {
    const head = `${operation}: ${outcomes[outcome]}${detail}\n`;
    if (fields.length === 0) return head;
    const columns: Columns<(typeof fields)[number]> = {
      "  verdict": ({ verdict }) => ({
        text: `  ${verdicts[verdict]}`,
        color: verdict === "outside" ? "red" : undefined,
      }),
      field: "field",
      found: "detail",
    };
    return head + renderTable(fields, columns, look);
  });
  return [...parts, `${agrees} agree, ${outside} deviate, ${unmet} not seen\n`].join("\n");
}
