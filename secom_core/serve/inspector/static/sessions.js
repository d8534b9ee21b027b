// Sessions: the list, and one session with its segments, named by the words that tell them apart.

import { encoded } from "./addresses.js";
import { announce, empty, failed } from "./announce.js";
import { button, el, labelled, newId } from "./elements.js";
import { counted, day, figure, named as nameOf, span } from "./phrases.js";
import { askToForget } from "./questions.js";
import { get, named } from "./server.js";
import { turnItem } from "./turns.js";

const PAGE = 20;
const COLOURS = 8;

export const sessionsView = (context) => (context.name ? session(context) : list(context));

async function list(context) {
  const found = await get(`inspect/sessions?limit=${PAGE}`);
  const heading = el("h2", { "data-focus": true, tabindex: "-1" }, "Sessions ", el("small", {}, figure(found.total)));
  if (!found.total)
    return [heading, empty("There is no session yet.", el("span", {}, "Take in a conversation with ", el("code", {}, "secom remember FILE"), ", or have your program call ", el("code", {}, "POST /v1/remember"), "; then load this page again."))];
  const rows = el("ol", { class: "sessions" }, found.sessions.map(row));
  const trouble = el("div");
  const more = button("Show more sessions", async () => {
    try {
      const next = await get(`inspect/sessions?limit=${PAGE}&offset=${rows.children.length}`);
      const first = next.sessions.map(row);
      rows.append(...first);
      trouble.replaceChildren();
      announce(`${counted(first.length, "more session")}.`);
      first[0]?.querySelector("a").focus();
      if (!first.length || rows.children.length >= next.total) more.remove();
    } catch (error) {
      trouble.replaceChildren(failed(error));
    }
  });
  return [heading, rows, trouble, found.total > found.sessions.length && more, context.stats.writes && forgetting(context)];
}

const chip = (words, place) => el("li", { class: `chip c${place % COLOURS}`, dir: "auto" }, nameOf(words, place));

const row = (each) =>
  el(
    "li",
    { class: "card" },
    el("h3", {}, el("a", { href: `#sessions/${encoded(each.name)}` }, el("bdi", {}, each.name))),
    el("p", { class: "soft" }, `${counted(each.turns, "turn")} in ${counted(each.segments, "segment")}, ${span(each.begin, each.end)}`),
    el("ul", { class: "chips", "aria-label": "What it is about" }, each.names.slice(0, 8).map(chip), each.names.length > 8 && el("li", { class: "soft" }, `and ${each.names.length - 8} more`)),
  );

/** Forgetting what is old, or all: at the end of the list, away from what is read. */
function forgetting(context) {
  const field = el("input", { type: "date", required: true });
  const old = (event) => {
    event.preventDefault();
    // Without an offset, the day begins by the clocks of the server's time zone, as the days on the page do.
    const before = `${field.value}T00:00:00`;
    if (field.value) askToForget({ before }, `what was said before ${day(`${before}+00:00`)}`, context.again);
  };
  return el(
    "section",
    { class: "card", "aria-labelledby": "forgetting" },
    el("h3", { id: "forgetting" }, "Forget"),
    el("form", { class: "line", onSubmit: old }, labelled("What was said before", field), el("button", { type: "submit", class: "danger" }, "Forget what is older…")),
    el("p", {}, button("Forget everything…", () => askToForget({ all: true }, "everything that is remembered here", context.again), { class: "danger" })),
  );
}

// -- one session -------------------------------------------------------------------------------------------------------

async function session(context) {
  const { session: found, names } = await get(named("inspect/session", context.name)).catch((error) => {
    if (error.status === 404) return { session: null, names: [] };
    throw error;
  });
  const back = el("p", {}, el("a", { href: "#sessions" }, "All sessions"));
  if (!found) return [el("h2", { "data-focus": true, tabindex: "-1" }, el("bdi", {}, context.name)), empty("There is no such session. It may have been forgotten."), back];
  const sections = found.segments.map((segment, place) => segmentSection(found, segment, names[place], place, context));
  const cut = found.segments.at(-1)?.stop ?? 0;
  const rest = found.turns.slice(cut);
  const leave = () => context.again().then(() => (location.hash = "sessions"));
  return [
    back,
    el("h2", { "data-focus": true, tabindex: "-1" }, el("bdi", {}, found.name)),
    el("p", { class: "soft" }, `${counted(found.turns.length, "turn")} in ${counted(found.segments.length, "segment")}, ${span(found.turns[0].at, found.turns.at(-1).at)}`),
    strip(found, names, sections),
    sections,
    rest.length > 0 && el("section", { class: "segment" }, el("h3", {}, "Not in a segment yet"), el("ol", { class: "turns" }, rest.map((turn) => turnItem(turn, context)))),
    context.stats.writes && el("p", {}, button("Forget this session…", () => askToForget({ session: found.name }, "this session", leave), { class: "danger" })),
  ];
}

/** The segments side by side, each as wide as it has turns; a press leads to it. */
function strip(found, names, sections) {
  const parts = found.segments.map((segment, place) => {
    const jump = button(nameOf(names[place], place), () => {
      sections[place].querySelector("h3").focus();
      sections[place].scrollIntoView({ block: "start" });
    });
    jump.dir = "auto";
    const part = el("li", { class: `c${place % COLOURS}` }, jump);
    part.style.flexGrow = segment.stop - segment.start;
    return part;
  });
  return el("nav", { "aria-label": "Segments of this session" }, el("ol", { class: "strip" }, parts));
}

function segmentSection(found, segment, words, place, context) {
  const id = newId("segment");
  const turns = found.turns.slice(segment.start, segment.stop);
  return el(
    "section",
    { class: `segment s${place % COLOURS}`, "aria-labelledby": id },
    el("h3", { id, tabindex: "-1", dir: "auto" }, nameOf(words, place), el("small", {}, ` ${counted(turns.length, "turn")}`)),
    el("ol", { class: "turns" }, turns.map((turn) => turnItem(turn, context))),
  );
}
