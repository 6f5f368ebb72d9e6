import { createLoopDelayMeter } from "./meters.ts";
import { answerParent } from "./rpc.ts";

/** A process that does nothing: what its event loop suffers is the machine's doing. */
const meter = createLoopDelayMeter();

answerParent({ start: () => meter.start(), stop: () => meter.stop() });
