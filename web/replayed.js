// --- The numbers of a replay. -------------------------------------------------------------------------
import { documentOf } from "./page.js";

/** @type {ReplayReport} */
export const report = documentOf("report").sets[0];
