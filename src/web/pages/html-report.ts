import type { HistoryContext } from "../../api/context.ts";
import type { CallApi } from "../../api/operation.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import { readReport, type PageRequest } from "./read-report.ts";
import { renderReport } from "./report-page.ts";
import { readUnitReport, renderUnitReport } from "./unit-report.ts";

/**
 * A report as one page: how busy all were and when they run out, or how a server or sandbox spent the range.
 *
 * @throws {RefusedError} when the request is not valid
 */
export async function htmlReport(
  api: CallApi<HistoryContext>,
  { threshold, ...request }: PageRequest,
): Promise<{ readonly text: string; readonly notes: readonly string[] }> {
  if (request.server === undefined && request.sandbox === undefined) {
    const page = await readReport(api, { ...request, threshold });
    return { text: renderReport(page), notes: page.report.notes };
  }
  if (threshold !== undefined) {
    const allowed = "only without server and sandbox";
    const message = `The request cannot be used. Allowed: threshold: ${allowed}`;
    throw new RefusedError("invalid", message, [{ path: "threshold", allowed }]);
  }
  const page = await readUnitReport(api, request);
  return { text: renderUnitReport(page), notes: page.report.notes };
}
