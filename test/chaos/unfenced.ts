import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** What makes the fence, and what replaces it in a program that has none. */
const fence: readonly { readonly file: string; readonly from: string; readonly to: string }[] = [
  // A standby becomes active without ending the session of a process whose lease has ended.
  {
    file: "src/store/postgres/processes.ts",
    from: "  await session.query(\n    `select pg_terminate_backend(pid, ${endingMs}) from",
    to: "  return session.query(\n    `select from",
  },
  {
    file: "src/store/postgres/candidate.ts",
    from: `    if (this.isEntered) await endExpired(session, connector);
    if (!(await tryLock(session, connector))) return false;
`,
    to: `    const expired = this.isEntered ? await endExpired(session, connector) : { rowCount: 0 };
    if (!(await tryLock(session, connector)) && expired.rowCount === 0) return false;
`,
  },
  // That process goes on, though another one is active.
  {
    file: "src/store/postgres/processes.ts",
    from: "returning coalesce(session = ${sessionOf(lockHolders(schema))}, false) as holds",
    to: "returning true as holds",
  },
];

/**
 * A copy of the program's sources without the fence, which runs from them.
 *
 * @returns the file to run
 */
export function copyUnfenced(folder: string): string {
  const copy = join(folder, "unfenced");
  mkdirSync(copy);
  for (const name of ["src", "docs", "package.json"]) {
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  for (const { file, from, to } of fence) {
    const text = readFileSync(join(copy, file), "utf8");
    if (text.split(from).length !== 2) throw new Error(`${file} has no single: ${from}`);
    writeFileSync(join(copy, file), text.replace(from, to));
  }
  return join(copy, "src/cli.js");
}
