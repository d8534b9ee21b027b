// Search: what answers a question, why, and the very block that would reach the prompt.

import { encoded } from "./addresses.js";
import { announce, empty, failed } from "./announce.js";
import { button, details, el, fill, labelled, newId } from "./elements.js";
import { counted, day, figure, percent } from "./phrases.js";
import { post } from "./server.js";
import { excerpts, messages, turnHead, wholeTurn } from "./turns.js";
import { chance, whyOf } from "./why.js";

const LEAST = 200;
const MOST = 8000;
const WAIT_MS = 180;

export function searchView({ stats, kept, again }) {
  if (!stats.turns)
    return [
      el("h2", { "data-focus": true, tabindex: "-1" }, "Search"),
      empty("Nothing is remembered here yet.", el("span", {}, "Take in a conversation with ", el("code", {}, "secom remember FILE"), ", or have your program call ", el("code", {}, "POST /v1/remember"), "; then load this page again.")),
    ];
  return new Search(stats, kept, again).made;
}

class Search {
  constructor(stats, kept, again) {
    Object.assign(this, { stats, kept, context: { stats, again } });
    kept.budget ??= 2000;
    kept.query ??= "";
    this.running = null;
    this.results = el("div", { id: "results" });
    this.block = el("section", { class: "block", "aria-labelledby": "block-heading" });
    this.made = [el("h2", {}, "Search"), this.form(), el("div", { class: "columns" }, this.results, this.block)];
    this.hint();
    if (kept.query) this.ask();
  }

  form() {
    this.query = el("input", { type: "search", id: "query", name: "query", value: this.kept.query, dir: "auto", autocomplete: "off", enterkeyhint: "search", "data-focus": true, "aria-keyshortcuts": "/" });
    this.query.value = this.kept.query;
    const shown = el("output", { for: "budget" }, this.budgetText());
    this.slider = el("input", { type: "range", id: "budget", min: LEAST, max: MOST, step: 100, value: this.kept.budget, "aria-valuetext": this.budgetText() });
    this.slider.addEventListener("input", () => {
      this.kept.budget = Number(this.slider.value);
      this.slider.setAttribute("aria-valuetext", this.budgetText());
      shown.textContent = this.budgetText();
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.ask(), WAIT_MS);
    });
    const form = el(
      "form",
      { class: "search", role: "search", onSubmit: (event) => this.submitted(event) },
      el("div", { class: "line" }, labelled("Ask what is remembered", this.query), el("button", { type: "submit", class: "main" }, "Search")),
      el("div", { class: "line budget" }, el("label", { for: "budget" }, "Token budget"), this.slider, shown),
      details("What to include", {}, el("fieldset", { "aria-label": "What to include" }, this.choice("only", "Only memories that answer: leave the rest of the budget empty"), this.choice("past", "Also show statements that no longer hold, marked", true), this.stats.layers.map((name) => this.choice(`layer-${name}`, `The ${name}`)))),
      el("p", { class: "soft keys" }, "Press / anywhere to come here."),
    );
    return form;
  }

  choice(name, says, usual = false) {
    this.kept[name] ??= usual;
    const box = el("input", { type: "checkbox", id: newId("choice"), checked: this.kept[name] });
    box.addEventListener("change", () => {
      this.kept[name] = box.checked;
      this.ask();
    });
    return el("label", { class: "choice" }, box, ` ${says}`);
  }

  budgetText() {
    return `${figure(this.kept.budget)} tokens`;
  }

  submitted(event) {
    event.preventDefault();
    this.kept.query = this.query.value.trim();
    this.ask({ announced: true });
  }

  hint() {
    fill(this.results, el("p", { class: "soft" }, "Ask a question as you would ask the agent, such as “What did we decide about the kitchen?”. Each hit comes with its reasons. You also see the exact text that would reach the prompt."));
    fill(this.block);
  }

  async ask({ announced = false } = {}) {
    if (!this.kept.query) return this.hint();
    this.running?.abort();
    const running = (this.running = new AbortController());
    this.results.setAttribute("aria-busy", "true");
    try {
      const layers = this.stats.layers.filter((name) => this.kept[`layer-${name}`]);
      const found = await post("inspect/recall", { query: this.kept.query, token_budget: this.kept.budget, only_relevant: this.kept.only, history: this.kept.past, layers }, { signal: running.signal });
      if (running !== this.running) return;
      this.show(found);
      const says = `${counted(found.recall.hits.length, "hit")}, ${figure(found.recall.tokens)} of ${this.budgetText()}.`;
      announce(says);
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(this.results, failed(error, () => this.ask()));
      fill(this.block);
    } finally {
      if (running === this.running) this.results.removeAttribute("aria-busy");
    }
  }

  show({ recall, why }) {
    const paired = recall.hits.map((hit, place) => ({ hit, why: why[place] }));
    const best = [...paired].sort((one, other) => (other.hit.kind === "relevant") - (one.hit.kind === "relevant") || other.hit.relevance - one.hit.relevance || other.hit.score - one.hit.score);
    this.showBlock(recall);
    if (!paired.length) {
      fill(this.results, empty("Nothing was found for that.", "Try other words, raise the token budget, or switch off “only memories that answer”."));
      return;
    }
    fill(
      this.results,
      el("h3", { class: "first" }, counted(paired.length, "hit"), el("small", {}, ` likeliest first · ${percent(recall.confidence)} chance that anything here answers`)),
      button("See what reaches the prompt", () => this.block.querySelector("h3").scrollIntoView() || this.block.querySelector("pre")?.focus(), { class: "jump" }),
      el("ol", { class: "hits" }, best.map((each) => el("li", {}, this.hit(each)))),
    );
  }

  hit({ hit, why }) {
    const id = newId("hit");
    const shown = hit.excerpts;
    return el(
      "article",
      { class: "card", "aria-labelledby": id },
      el("h4", { id }, `[${hit.number}] `, el("a", { href: `#sessions/${encoded(hit.session)}` }, el("bdi", {}, hit.session)), el("small", {}, ` ${day(hit.turns[0].at)}`)),
      chance(hit),
      hit.turns.map((turn) => this.turn(turn, shown, why, hit)),
      whyOf(hit, why),
    );
  }

  turn(turn, spans, why, hit) {
    const own = spans.filter((each) => each.turn_id === turn.id);
    const replaced = hit.replaced.filter((each) => each.turn_id === turn.id);
    return el(
      "div",
      { class: "turn" },
      turnHead(turn, this.context),
      own.length ? excerpts(turn, spans, why.matches) : messages(turn, { matches: why.matches }),
      replaced.map((each) => el("p", { class: "marks" }, el("span", { class: "tag corrected" }, `${{ retracted: "retracted", ended: "ended" }[each.kind] || "replaced"} on ${day(each.at)}`))),
      own.length > 0 && wholeTurn(turn, spans, why.matches, "what reaches the prompt"),
    );
  }

  showBlock(recall) {
    const copy = button("Copy the block", async () => {
      try {
        await navigator.clipboard.writeText(recall.text);
        announce("The block is copied.");
        copy.textContent = "Copied";
      } catch {
        announce("The browser does not allow copying; select the text instead.");
        copy.textContent = "Select the text to copy it";
      }
    });
    fill(
      this.block,
      el("h3", { id: "block-heading" }, "What reaches the prompt"),
      el("p", {}, el("progress", { max: this.kept.budget, value: recall.tokens, "aria-label": "Tokens used" }), " ", el("span", { id: "used" }, `${figure(recall.tokens)} of ${this.budgetText()}`), recall.sections.length > 0 && ` · with ${recall.sections.map((each) => each.layer).join(", ")}`),
      recall.text ? el("pre", { id: "block", tabindex: "0", role: "region", "aria-label": "The block, word for word", dir: "auto" }, recall.text) : el("p", { class: "soft" }, "Nothing: the prompt would get no block."),
      recall.text && copy,
    );
  }
}
