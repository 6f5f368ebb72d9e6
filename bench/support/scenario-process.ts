import { z } from "zod";
import { scenarios } from "../scenarios/scenarios.ts";
import { answerParent } from "./rpc.ts";

const orderSchema = z.object({ name: z.string(), quick: z.boolean() });

/** The process of one scenario, and of the daemon that it measures. */
answerParent({
  run(params) {
    const { name, quick } = orderSchema.parse(params);
    const scenario = scenarios.find((each) => each.name === name);
    if (!scenario) throw new Error(`there is no scenario ${name}`);
    return scenario.run({ quick });
  },
});
