import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { watchWorld } from "../support/watched-world.ts";

it("exposes nothing that Prometheus's own linter objects to", async () => {
  const world = await watchWorld({ servers: 20 });
  world.show(0, "error");
  await world.poll(2);
  world.show(0, "occupied");
  world.fail({ kind: "odd" });
  await world.poll();
  world.fail({ kind: "status", status: 500 });
  await world.poll();
  const exposition = await world.metrics();
  expect(exposition).toContain("sandwatch_schema_deviations_total{");

  expect(await lint(exposition)).toEqual({ code: 0, findings: "" });
});

it("fails if promtool has an objection", async () => {
  const { code, findings } = await lint("# TYPE things_total gauge\nthings_total 1\n");
  expect(code).not.toBe(0);
  expect(findings).toContain("things_total");
});

async function lint(exposition: string): Promise<{ code: number | null; findings: string }> {
  const promtool = spawn("promtool", ["check", "metrics"], { stdio: ["pipe", "pipe", "pipe"] });
  const output = Promise.all([text(promtool.stdout), text(promtool.stderr)]);
  promtool.stdin.end(exposition);
  const [code] = await once(promtool, "close");
  return { code, findings: (await output).join("") };
}
