import { frame, player } from "./common.js";

export function mount(node) {
    const steps = player(() => 3, (step) => `step ${step}`);
    frame(node, "The graph, step by step", steps.bar, steps.status);
}
