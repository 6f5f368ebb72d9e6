import { onTestFinished } from "vitest";
import { createOutbound, type Outbound, type OutboundDeps } from "../../../src/notify/outbound.ts";
import type { Clock } from "../../../src/lib/clock.ts";

/** Closed when the test ends. */
export function openOutbound(clock: Clock, more: Partial<OutboundDeps> = {}): Outbound {
  const outbound = createOutbound({
    clock,
    userAgent: "sandwatch/test",
    mayAct: () => true,
    ...more,
  });
  onTestFinished(() => outbound.close());
  return outbound;
}
