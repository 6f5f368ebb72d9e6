import { onTestFinished } from "vitest";
import { createDaemon } from "../../src/app/daemon.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { writeConfig } from "../support/config-file.ts";
import { testConfig } from "../support/test-config.ts";

/** A daemon of the region us that serves, and does not poll. */
export async function serveUs(
  keys: readonly string[],
  listen = "127.0.0.1:0",
  changed: object = {},
) {
  const { settings, store } = writeConfig({
    keys: keys.map((name) => ({ name, api_key: `simulated-T0PSECRET-${name}` })),
    http: { listen },
    ...changed,
  });
  const daemon = await createDaemon(testConfig(settings), {
    clock: createFakeClock(),
    log: createLogger({ level: "silent", format: "json" }),
  });
  onTestFinished(() => daemon.stop());
  const url = await daemon.serve();
  return { daemon, store, url, listen: new URL(url).host };
}
