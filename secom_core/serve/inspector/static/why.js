// Why a hit was found, in plain words and numbers.

import { details, el } from "./elements.js";
import { percent, signed } from "./phrases.js";

const TOLD = 3;

const value = (reason) => {
  if (reason.yes_or_no) return reason.value > 0 ? "yes" : "no";
  return `${Math.abs(reason.value).toFixed(1)} σ ${reason.value < 0 ? "below" : "above"} average`;
};

const row = (reason) =>
  el("tr", {}, el("th", { scope: "row" }, reason.says), el("td", {}, value(reason)), el("td", { class: "number" }, `× ${reason.weight}`), el("td", { class: "number" }, signed(reason.adds)));

function table(hit, reasons) {
  const sum = reasons.reduce((total, reason) => total + reason.adds, 0);
  const lowered = hit.score < sum - 0.01;
  return [
    el(
      "div",
      { class: "wide", tabindex: "0", role: "region", "aria-label": "What its score is made of" },
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, ["What is compared", "Against all that was looked at", "Weight", "Adds"].map((says, place) => el("th", { scope: "col", class: place > 1 && "number" }, says)))),
        el("tbody", {}, reasons.map(row)),
        el("tfoot", {}, el("tr", {}, el("th", { scope: "row", colspan: "3" }, "Score, which orders the hits of this search"), el("td", { class: "number" }, hit.score.toFixed(2)))),
      ),
    ),
    lowered && el("p", { class: "soft" }, "The score is below the sum: what holds whatever is asked, or only asks, stands behind what answers."),
    el("p", { class: "soft" }, "σ is the standard deviation among everything that this search looked at closely."),
  ];
}

/** Which words of the query it has. */
function words(why) {
  const found = why.matches.some((each) => each.spans.length);
  return el("p", {}, found ? "Words of your query that it has are underlined." : "It shares no word with your query: it was found by what stands around it, by meaning, or by a rule.");
}

const joined = (reasons) => reasons.map((reason) => `${reason.says} (${signed(reason.adds)})`).join("; ");

export function whyOf(hit, why) {
  const speak = why.reasons.filter((reason) => reason.adds > 0).slice(0, TOLD);
  const against = why.reasons.filter((reason) => reason.adds < -0.1).slice(0, TOLD - 1);
  return details(
    "Why it is shown",
    { class: "why" },
    el("p", {}, why.says),
    words(why),
    speak.length > 0 && el("p", {}, el("strong", {}, "Most for it: "), `${joined(speak)}.`),
    against.length > 0 && el("p", {}, el("strong", {}, "Most against it: "), `${joined(against)}.`),
    why.reasons.length > 0 && table(hit, why.reasons),
  );
}

/** How likely it is that a hit helps to answer; of the others, why they are there. */
export function chance(hit) {
  if (hit.kind !== "relevant") return el("p", { class: "chance" }, el("span", { class: "tag" }, { surrounding: "beside a find", standing: "holds whatever is asked", recent: "said last" }[hit.kind]));
  return el(
    "p",
    { class: "chance" },
    el("meter", { min: 0, max: 1, value: hit.relevance, "aria-label": "Chance that it helps to answer" }),
    ` ${percent(hit.relevance)} chance that it helps to answer`,
  );
}
