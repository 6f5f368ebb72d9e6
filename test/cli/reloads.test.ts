import { expect, it } from "vitest";
import { createReloads } from "../../src/cli/reloads.ts";
import type { Config } from "../../src/config/config.ts";
import { parseConfig } from "../../src/config/load-config.ts";
import { createFakeClock } from "../support/fake-clock.ts";

function configOf(key: string): Config {
  const parsed = parseConfig({
    regions: { us: { base_url: "https://us.example.com" } },
    keys: [{ name: key, api_key: "T0PSECRET" }],
  });
  if (parsed.kind === "faulty") throw new Error(JSON.stringify(parsed.faults));
  return parsed.config;
}

/** Reads the configurations one after the other. */
function reloadsOf(...keys: readonly string[]) {
  const configs = keys.map(configOf);
  const load = () => {
    const config = configs.shift();
    if (!config) throw new Error("there is no further configuration");
    return { kind: "ok" as const, config };
  };
  const reloads = createReloads("sandwatch.yaml", load, createFakeClock());
  const request = (): (() => void) => {
    const answer = reloads.request();
    if (answer.kind === "refused") throw new Error(answer.reason);
    return answer.begin;
  };
  const nextKey = async (): Promise<string> => {
    const { keys: next } = await reloads.next();
    return next.map(({ name }) => name).join();
  };
  return { request, nextKey, reloads };
}

it("of configurations asked for while another one is taken on, the latest is next", async () => {
  const { request, nextKey } = reloadsOf("first", "second", "third", "fourth");
  request()();
  expect(await nextKey()).toBe("first");
  request()();
  request()();
  expect(await nextKey()).toBe("third");
  const next = nextKey();
  request()();
  expect(await next).toBe("fourth");
});

it("one that was read before another and is begun after it is out of date", async () => {
  const { request, nextKey } = reloadsOf("first", "second");
  const [beginFirst, beginSecond] = [request(), request()];
  beginSecond();
  beginFirst();
  expect(await nextKey()).toBe("second");
});

it("one that could not be run is told as the last only until another was read", async () => {
  const { request, nextKey, reloads } = reloadsOf("first", "second");
  request()();
  await nextKey();
  request()();
  reloads.failed();
  expect(reloads.last.successful).toBe(true);
  await nextKey();
  reloads.failed();
  expect(reloads.last.successful).toBe(false);
});
