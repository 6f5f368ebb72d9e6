import { Client, type ClientConfig } from "pg";

/**
 * What anyone else asks of a PostgreSQL of the tests, over a connection of its own.
 *
 * @param at the folder of its socket, or where else it is reached
 */
export async function queryPostgres(at: string | ClientConfig, statement: string) {
  const where = typeof at === "string" ? { host: at } : at;
  const client = new Client({ user: "test", database: "postgres", ...where });
  // The statement fails as well.
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}
