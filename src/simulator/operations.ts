import type { Target } from "../fleet/model.ts";
import { jsonAnswer, noSuchPath, problem, textAnswer, type Answer } from "./answers.ts";
import type { Directory } from "./directory.ts";
import { faultsOf, type FullFault } from "./faults.ts";
import { listingBody, nestedJson } from "./listing.ts";
import { readPathId } from "./path-id.ts";
import { reshapeAnswer } from "./reshape.ts";
import type { Route } from "./routes.ts";
import type { World, WorldView } from "./world.ts";

export interface OperationsDeps {
  readonly world: World;
  /** What the target's listing is made of at this moment. */
  readonly viewOf: (target: Target) => WorldView;
  readonly directoryOf: (region: string) => Directory;
}

type Faults = readonly FullFault[];

export type Operations = (route: Route, key: string, faults: Faults) => Answer;

/** The five operations of the interface document. */
export function createOperations({ world, viewOf, directoryOf }: OperationsDeps): Operations {
  const answerOf = ({ region, operation, rawId }: Route, key: string, faults: Faults): Answer => {
    const directory = directoryOf(region);
    switch (operation) {
      case "list_sandboxes": {
        const view = viewOf({ region, key });
        return { status: 200, headers: {}, body: listingBody(world, view, faults) };
      }
      case "list_universes":
        return jsonAnswer(200, { universes: directory.universes() });
      case "get_user":
        return lookUp(rawId, "userId", (id) => directory.user(id));
      case "get_universe_data":
        return lookUp(rawId, "universe_id", (id) => directory.universeData(id));
      case "get_white_label":
        return lookUp(rawId, "client_id", (id) => directory.whiteLabel(id));
    }
  };
  return (route, key, faults) =>
    replacedAnswer(route, faults) ?? reshapeAnswer(answerOf(route, key, faults), faults);
}

function lookUp(rawId: string, parameter: string, find: (id: string) => unknown): Answer {
  const read = readPathId(rawId, parameter);
  if (read.kind === "invalid") return jsonAnswer(422, { detail: [read.entry] });
  const found = find(read.id);
  return found === undefined ? problem(404, "Not found") : jsonAnswer(200, found);
}

/** The answer given in place of the true one; of several faults the first in this order. */
function replacedAnswer({ operation }: Route, faults: Faults): Answer | null {
  const [status] = faultsOf(faults, "status");
  if (status) {
    const { retry_after: retryAfter } = status;
    const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
    return problem(status.status, "Simulated fault", headers);
  }
  if (faultsOf(faults, "missing").length > 0) return noSuchPath;
  const [redirect] = faultsOf(faults, "redirect");
  if (redirect) return textAnswer(302, "", { location: redirect.location });
  if (faultsOf(faults, "malformed").length > 0) {
    return textAnswer(200, '<html><body>"Bad gateway"</body></html>');
  }
  const [nested] = faultsOf(faults, "nested");
  if (nested && operation !== "list_sandboxes") return textAnswer(200, nestedJson(nested.depth));
  return null;
}
