import { closeSync, openSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { startSandwatch } from "../support/sandwatch-process.ts";

it("a command whose results cannot be written says so, with exit code 1", async () => {
  const full = openSync("/dev/full", "w");
  onTestFinished(() => closeSync(full));
  const { ended } = startSandwatch(["--help"], {}, full);
  expect(await ended).toMatchObject({
    code: 1,
    err: expect.stringContaining("The results could not be written to standard output: ENOSPC"),
  });
});
