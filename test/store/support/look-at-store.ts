import { writeSync } from "node:fs";
import { argv, stdout } from "node:process";
import { isStoreInUse } from "../../../src/store/sqlite/file-lock.ts";

/** Looks whether the store named on the command line is in use, says so, and goes on until it is killed. */
for (let looks = 1; ; looks++) {
  isStoreInUse(argv[2] ?? "");
  if (looks === 1) writeSync(stdout.fd, "looking\n");
}
