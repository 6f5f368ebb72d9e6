import type { Client } from "pg";
import { asError } from "../../lib/as-error.ts";

const rounds = 4;

/**
 * Whether a pooler gives the session of a client to another client while the first is in no transaction. Nothing is set in
 * any session.
 *
 * @param other connects to the same address; it is closed here
 */
export async function assignsTransactions(client: Client, other: Client): Promise<boolean> {
  other.on("error", () => {});
  const own = new Set<number>();
  const others = new Set<number>();
  try {
    await other.connect();
    for (let round = 0; round < rounds; round += 1) {
      own.add(await pidOf(client));
      await other.query("begin");
      others.add(await pidOf(other));
      own.add(await pidOf(client));
      await other.query("commit");
    }
    return own.size > 1 || others.size > 1 || !own.isDisjointFrom(others);
  } catch (error) {
    // Where it assigns statements, it refuses transactions. Where it assigns sessions, all of them may be in use.
    return /transaction/i.test(asError(error).message);
  } finally {
    other.connection.stream.destroy();
  }
}

async function pidOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ readonly pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid ?? 0;
}
