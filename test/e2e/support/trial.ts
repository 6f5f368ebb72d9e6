import { execFileSync } from "node:child_process";
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import type { Fault } from "../../../src/simulator/faults.ts";
import { createSimulator } from "../../../src/simulator/simulator.ts";
import { writeConfig } from "../../support/config-file.ts";
import { startSandwatch } from "../../support/sandwatch-process.ts";
import type { SandwatchProcess } from "../../support/sandwatch-process.ts";
import { tempFolder } from "../../support/temp-folder.ts";
import { startWebhookPeer, webhookSecret } from "../../support/webhook-peer.ts";
import { until } from "./until.ts";

export interface TrialOptions {
  readonly keys?: number;
  readonly servers?: number;
  /** The name of the service's and the receiver's host. */
  readonly host?: string;
  /** Where the store is. */
  readonly folder?: string;
  /** Default: 1 s. */
  readonly pollTimeout?: string;
  /** Beside the region "us" and the receiver "oncall", which work. */
  readonly moreRegions?: object;
  readonly moreReceivers?: readonly object[];
  /** Replace those of its configuration, each as a whole. */
  readonly settings?: object;
}

/** A daemon in a process of its own, on something that fails, and a service and a receiver that work. */
export async function prepareTrial(options: TrialOptions = {}) {
  const { servers = 3, host = "127.0.0.1", folder = tempFolder() } = options;
  const at = (url = ""): string => url.replace("127.0.0.1", host);
  const keys = Array.from({ length: options.keys ?? 1 }, (_, index) => ({
    name: `key-${index}`,
    apiKey: `simulated-key-${index}`,
  }));
  const simulator = createSimulator({
    manners: ["silent"],
    seed: 3,
    clock: systemClock,
    regions: ["us"],
    keys,
    servers,
    pace: 0,
    rateLimit: null,
  });
  const services = await simulator.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => simulator.close());
  const target = { region: "us", key: "key-0" };
  const serverIds = Array.from(
    simulator.truth(target, systemClock.now().utcMs),
    ({ serverId }) => serverId,
  );
  const show = (server: number, status: string): void =>
    simulator.pin(target, serverIds[server] ?? "", status);
  for (const index of serverIds.keys()) show(index, "idle");
  const peer = await startWebhookPeer();
  const store = join(folder, "sandwatch.db");
  const { config } = writeConfig({
    regions: { us: { base_url: at(services.get("us")), allow_http: true }, ...options.moreRegions },
    keys: keys.map(({ name, apiKey }) => ({ name, api_key: apiKey })),
    poll: {
      every: "1s",
      timeout: options.pollTimeout ?? "1s",
      rate_limit: { requests: 1_000, per: "1s" },
    },
    store: { path: store },
    alerts: {
      receivers: [
        {
          name: "oncall",
          type: "webhook",
          url: at(peer.url),
          allow_http: true,
          secret: webhookSecret,
          group_wait: "0s",
          max_incidents: 1_000,
        },
        ...(options.moreReceivers ?? []),
      ],
    },
    ...options.settings,
  });
  return {
    peer,
    config,
    store,
    show,
    showAll: (status: string): void => serverIds.forEach((_, index) => show(index, status)),
    fail: (...faults: Fault[]): void => simulator.setFaults(faults),
    /**
     * Polls from now on, or stands by.
     *
     * @param known where it serves; default: it is read from its log, where a standby does not have it
     */
    async start(
      run: (args: readonly string[]) => SandwatchProcess = startSandwatch,
      known?: string,
    ): Promise<RunningTrial> {
      const daemon = run(["run", "--config", config]);
      const address = known ?? addressIn(await daemon.line("daemon.started"));
      const running = {
        ...daemon,
        address,
        readiness: async () => {
          const response = await fetch(`${address}/-/ready`);
          return `${response.status} ${await response.text()}`;
        },
        metric: async (name: string) => {
          const text = await (await fetch(`${address}/metrics?collect[]=${name}`)).text();
          const samples = text.split("\n").filter((line) => line.startsWith(name));
          return samples.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
        },
      };
      await until("ready", async () => (await running.readiness()).startsWith("200"));
      return running;
    },
  };
}

function addressIn(line: string): string {
  const { address }: { address: string } = JSON.parse(line);
  return address;
}

export interface RunningTrial extends SandwatchProcess {
  readonly address: string;
  /** Status and text of `/-/ready`. */
  readiness(): Promise<string>;
  /** The sum of a family's samples. */
  metric(name: string): Promise<number>;
}

/** A small file system in memory; null: this user may not mount one. */
export function mountSmallDisk(bytes: number) {
  const path = tempFolder();
  const mount = (...args: readonly string[]): boolean => {
    try {
      execFileSync("mount", args, { stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  };
  if (!mount("-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", path)) return null;
  onTestFinished(() => void execFileSync("umount", ["--lazy", path]));
  return { path, makeReadOnly: (): boolean => mount("-o", "remount,ro", path) };
}

/** Writes until nothing more fits. */
export function fillDisk(file: string): void {
  const opened = openSync(file, "w");
  const block = Buffer.alloc(4_096);
  try {
    for (;;) if (writeSync(opened, block) < block.length) return;
  } catch {
    // It is full.
  } finally {
    closeSync(opened);
  }
}
