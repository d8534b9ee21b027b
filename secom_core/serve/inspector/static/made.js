// What layers have made of closed sessions: the summary, topics, and timelines.

import { encoded } from "./addresses.js";
import { empty } from "./announce.js";
import { details, el } from "./elements.js";
import { counted, day, opening } from "./phrases.js";
import { get } from "./server.js";

const RELATIONS = { Changed: "changed by", Cause: "led to", Reason: "was the reason for", HinderedBy: "was hindered by", React: "was answered by", Want: "made one want", SameTopic: "went on with" };

export async function madeView() {
  const found = await get("inspect/made");
  const has = (name) => found.layers.includes(name);
  return [
    el("h2", { "data-focus": true, tabindex: "-1" }, "Summary, topics and timelines"),
    found.layers.length > 0 && el("p", { class: "soft" }, found.by_model ? "A language model makes these from closed sessions." : "Made by rules from sentences of closed sessions, because this server has no language model."),
    section("Summary", has("summaries"), "summaries", found, () => summary(found.summary)),
    section("Topics", has("topics"), "topics", found, () => topics(found.topics)),
    section("Timelines", has("timelines"), "timelines", found, () => timelines(found)),
  ].filter(Boolean);
}

function section(says, isThere, layer, found, made) {
  const waiting = found.waiting[layer];
  return el(
    "section",
    {},
    el("h3", {}, says),
    !isThere && empty(el("span", {}, `This server makes no ${says.toLowerCase()}. To change that, write `, el("code", {}, `layers = ["${layer}"]`), " into secom.toml and start it again.")),
    isThere && waiting > 0 && el("p", { class: "soft" }, `Not in here yet: ${counted(waiting, "closed session")}.`),
    isThere && made(),
  );
}

function summary(latest) {
  if (!latest) return empty("There is no summary yet. It is made when a session ends.");
  return [el("ul", {}, latest.sentences.map((each) => el("li", { dir: "auto" }, each))), el("p", { class: "soft" }, `Version ${latest.version}, after the session `, session(latest.session), ".")];
}

const session = (name) => el("a", { href: `#sessions/${encoded(name)}` }, el("bdi", {}, name));

function topics(found) {
  if (!found.length) return empty("There are no topics yet. They are made when a session ends.");
  const speakers = [...new Set(found.map((topic) => topic.speaker))];
  return speakers.map((speaker) => [
    el("h4", {}, el("bdi", {}, speaker || "nobody in particular")),
    el("ul", { class: "plain" }, found.filter((topic) => topic.speaker === speaker).map((topic) => el("li", { class: "card" }, el("p", { dir: "auto", class: "lines" }, topic.summary), el("p", { class: "soft" }, `${counted(topic.turn_ids.length, "turn")} of `, topic.sessions.map((name, place) => [place ? ", " : "", session(name)]))))),
  ]);
}

function timelines({ threads, single }) {
  if (!threads.length && !single) return empty("There are no events yet. They are made when a session ends.");
  return [threads.map(thread), single > 0 && el("p", { class: "soft" }, `${counted(single, "event")} linked to no other.`)];
}

function thread({ events, steps }, place) {
  const title = `Thread ${place + 1}: ${counted(events.length, "event")}, ${day(events[0].at)} to ${day(events.at(-1).at)}`;
  const byId = new Map(events.map((event) => [event.id, event]));
  return details(title, { class: "card", open: place === 0 }, el("ol", { class: "timeline" }, events.map((event) => eventItem(event, steps, byId))));
}

const eventItem = (event, steps, byId) =>
  el(
    "li",
    {},
    el("p", { class: "soft" }, el("time", { datetime: event.at }, day(event.at)), " · ", session(event.session)),
    el("p", { dir: "auto" }, event.text),
    steps.filter((step) => step.later === event.id && byId.has(step.earlier)).map((step) => el("p", { class: "soft step" }, `← ${RELATIONS[step.relation] || step.relation} this: `, el("q", { dir: "auto" }, opening(byId.get(step.earlier).text, 80)))),
  );
