import { isStoreInUse } from "./sqlite/file-lock.ts";
import type { StoreSettings } from "./store-settings.ts";

/**
 * Whether a process runs on it. Only looks.
 *
 * @throws {StoreError} when that cannot be found out
 */
export async function isConfiguredInUse({ path, postgres }: StoreSettings): Promise<boolean> {
  if (postgres === null) return isStoreInUse(path);
  const { isPostgresStoreInUse } = await import("./postgres/database.ts");
  return isPostgresStoreInUse(postgres);
}
