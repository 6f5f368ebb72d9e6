import { leavesUnencrypted, parseBaseUrl } from "../config/address.ts";
import { checkConformance } from "../conformance/check-conformance.ts";
import { conformanceIds } from "../conformance/conformance-desk.ts";
import type { ConformanceDesk } from "../conformance/conformance-desk.ts";
import type { ConformanceView, FieldView, OperationView } from "../conformance/views.ts";
import { counted } from "../core/counted.ts";
import { readRequest } from "../interventions/requests.ts";
import { systemClock } from "../platform/clock.ts";
import { Secret } from "../platform/secret.ts";
import { userAgent } from "../platform/version.ts";
import { createKeyLimits } from "../polling/key-limits.ts";
import { createServiceClient } from "../service/client.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { asCommandError, checkNobodyRuns, reach, show } from "./reach-desk.ts";
import type { DeskOptions } from "./reach-desk.ts";
import { renderTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export interface ConformanceOptions extends DeskOptions {
  readonly region?: string;
  readonly key?: string;
  readonly user?: string;
  readonly universe?: string;
  readonly client?: string;
  /** Any deployment's, instead of a configured region. */
  readonly baseUrl?: string;
}

/** Holds the key that is used with --base-url: on a command line others could read it. */
const apiKeyVariable = "SANDWATCH_API_KEY";

const limitsOfItsOwn = {
  rateLimit: { requests: 2, perMs: 1_000 },
  timeoutMs: 30_000,
  maxBodyBytes: 64 * 2 ** 20,
};

/**
 * Asks every operation of the service once and says, field by field, how the answers go with the interface.
 *
 * @throws {CommandError} when anything is outside it, or gave no answer
 */
export async function conformance(options: ConformanceOptions, terminal: Terminal): Promise<void> {
  const { baseUrl, region, key, user, universe, client } = options;
  const ids = { ...(user && { user }), ...(universe && { universe }), ...(client && { client }) };
  const report =
    baseUrl === undefined
      ? await reach<ConformanceDesk, ConformanceView>(
          options,
          terminal,
          (desk) => desk.conformance({ ...ids, ...(region && { region }), ...(key && { key }) }),
          async (config) => {
            checkNobodyRuns(config);
            return (await import("../offline.ts")).openService(config);
          },
        )
      : await checkAddress(baseUrl, options, ids);
  show(report, options, terminal, inWords);
  const { outside, failed } = report;
  const faults = [
    ...(outside > 0 ? [`${counted(outside, "place")} outside the interface`] : []),
    ...(failed > 0 ? [`${counted(failed, "operation")} without an answer`] : []),
  ];
  if (faults.length > 0) {
    const there = (outside || failed) === 1 ? "There is" : "There are";
    throw new CommandError(`${there} ${faults.join(" and ")}.`, exitCodes.failed);
  }
}

async function checkAddress(
  address: string,
  { region, key }: ConformanceOptions,
  ids: object,
): Promise<ConformanceView> {
  const wrongUse = (message: string) => new CommandError(message, exitCodes.wrongUse);
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
  const { rateLimit, timeoutMs, maxBodyBytes } = limitsOfItsOwn;
  const target = { region: baseUrl, key: "" };
  const service = createServiceClient({
    regions: new Map([[target.region, { baseUrl }]]),
    timeoutMs,
    maxBodyBytes,
    userAgent,
    clock: systemClock,
  });
  try {
    const limits = createKeyLimits(systemClock, rateLimit);
    const { signal } = new AbortController();
    const deps = { service, limits, clock: systemClock, maxBodyBytes, signal };
    const checkedIds = readRequest(conformanceIds, ids);
    return { ...(await checkConformance(deps, target, new Secret(apiKey), checkedIds)), key: null };
  } catch (error) {
    throw asCommandError(error);
  } finally {
    await service.close();
  }
}

const verdicts = { agrees: "agrees", outside: "OUTSIDE", not_seen: "not seen" } as const;
const outcomes = {
  answered: "",
  outside: "OUTSIDE: ",
  failed: "no answer: ",
  not_seen: "not seen: ",
} as const;

function inWords({ operations, agrees, outside, not_seen: unseen }: ConformanceView): string {
  const parts = operations.map(operationInWords);
  const counts = `${agrees} agree, ${outside} outside, ${unseen} not seen\n`;
  return [...parts, counts].join("\n");
}

function operationInWords({ operation, outcome, detail, fields }: OperationView): string {
  const head = `${operation}: ${outcomes[outcome]}${detail}\n`;
  if (fields.length === 0) return head;
  const rows = fields.map(({ field, verdict, detail: found }: FieldView) => [
    `  ${verdicts[verdict]}`,
    field,
    found,
  ]);
  return head + renderTable(["  verdict", "field", "found"], rows);
}
