import type { z } from "zod";
import { refuse } from "./fields.ts";
import { textMapping } from "./text-mapping.ts";

/** Leaves place for the name of the service in the author of an acknowledgement. */
const namePattern = /^\S(?:.{0,78}\S)?$/;

/** Who may act from a service: their names in sandwatch by their ids there. */
export function actingUsers(idPattern: RegExp, example: string) {
  const idAllowed = `the id of a user such as ${example}`;
  return textMapping({
    what: "ids of users to their names",
    isName: (id) => idPattern.test(id),
    nameAllowed: idAllowed,
    isText: (name) => namePattern.test(name),
    textAllowed: "a name of at most 80 characters",
  })
    .transform((users, context) => (users.size > 0 ? users : refuse(context, "at least one user")))
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
