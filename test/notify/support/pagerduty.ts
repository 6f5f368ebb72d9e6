import { pagerdutyState, readPagerdutyEvent, type PagerdutyEvent } from "./pagerduty-event.ts";
import { startReceiverServer, status, type Answer } from "./receiver-server.ts";

/** PagerDuty, on a port of its own. */
export async function startPagerduty() {
  const state = pagerdutyState();
  const events: PagerdutyEvent[] = [];
  const accept: Answer = (response, request, index) => {
    const event = readPagerdutyEvent(request.body);
    events.push(event);
    state.take(event);
    status(202)(response, request, index);
  };
  const server = await startReceiverServer(accept);
  return { server, events, state, accept };
}
