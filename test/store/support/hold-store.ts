import { argv, stdin, stdout } from "node:process";
import { openStore } from "../../../src/store/store.ts";

/** Opens the store named on the command line, says so, and holds it until its input ends. */
const store = openStore(argv[2] ?? "");
stdout.write("held\n");
stdin.resume();
stdin.on("end", () => void store.close());
