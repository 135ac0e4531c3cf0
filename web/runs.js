// --- What pages say of a whole run and of odds. ----------------------------------------------------
import { percent, rounded, seconds } from "./numbers.js";
import { bandText, tile } from "./page.js";

const DAY = 86400, TONNE = 1000, SURE = 0.995;
export const MWH = 3.6e9;

export const days = (/** @type {number} */ time) => `${(time / DAY).toFixed(1)} days`;

/** How likely a plan fits. */
export const odds = (/** @type {number} */ share) => share >= SURE ? "> 99 %" : share < 1 - SURE ? "< 1 %" : percent(share, 0);

/**
 * Nothing where nobody asked for the whole run.
 * @param {WholeRun | null} run
 * @param {RunAsked | null} asked
 */
export function runTiles(run, asked) {
  if (run === null || asked === null) return [];
  return [tile(days(run.time_s), `the whole run; ${bandText(days(run.low_s), days(run.high_s))}`), tile(rounded(run.chip_hours), "chip-hours"),
    run.cost_usd > 0 ? tile(`${rounded(run.cost_usd)} USD`, `at ${asked.usd_per_chip_hour} a chip and hour ${asked.price_source}`) : null,
    run.failures > 0 ? tile(rounded(run.failures), `failures; a checkpoint after every ${seconds(run.checkpoint_every_s)} of work`) : null,
    run.energy_j > 0 ? tile(`${rounded(run.energy_j / MWH)} MWh`, "of the run, chips at their power limit") : null,
    run.co2_kg > 0 ? tile(`${rounded(run.co2_kg / TONNE)} t`, "of CO2") : null];
}
