import { z } from "zod";
import { refuse } from "./fields.ts";

/** Leaves place for the name of the service in the author of an acknowledgement. */
const namePattern = /^\S(?:.{0,78}\S)?$/;

/** Who may act from a service: their names in sandwatch by their ids there. */
export function actingUsers(idPattern: RegExp, example: string) {
  const idAllowed = `the id of a user such as ${example}`;
  return z
    .unknown()
    .transform((value, context): ReadonlyMap<string, string> => {
      if (typeof value !== "object" || value === null || Array.isArray(value)) {
        return refuse(context, "a mapping from ids of users to their names");
      }
      const users = new Map<string, string>();
      for (const [id, name] of Object.entries(value)) {
        if (!idPattern.test(id)) return refuse(context, idAllowed, { path: [id] });
        if (typeof name !== "string" || !namePattern.test(name)) {
          return refuse(context, "a name of at most 80 characters", { path: [id] });
        }
        users.set(id, name);
      }
      return users.size > 0 ? users : refuse(context, "at least one user");
    })
    .meta({
      type: "object",
      minProperties: 1,
      propertyNames: { pattern: idPattern.source, errorMessage: idAllowed },
      additionalProperties: { type: "string", pattern: namePattern.source },
    });
}

/** Refuses a secret with which nobody may act, and users that nothing lets act. */
export function refuseHalf(
  secretSetting: string,
  { secret, users }: { readonly secret: unknown; readonly users: unknown },
  context: z.RefinementCtx,
): void {
  if ((secret === null) === (users === null)) return;
  const [missing, present] = secret === null ? [secretSetting, "users"] : ["users", secretSetting];
  refuse(context, `${secretSetting} and users together`, {
    path: [missing],
    found: `nothing, but ${present}`,
  });
}
