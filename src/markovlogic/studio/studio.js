// The studio's page: an editor with errors and completions, evidence, runs in another process, and the view of results.
import {explore, number, table} from "./view.js";

const root = document.getElementById("studio"), start = JSON.parse(root.dataset.start);
const POLL = 200, SETTLE = 180;  // milliseconds between two looks at a run; of quiet before rules are checked

function h(tag, given = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && !name.includes("-")) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.flat(Infinity).filter(one => one !== null && one !== undefined && one !== false));
  return made;
}

async function ask(name, given) {
  const answer = await fetch(`ask/${name}`, {method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify(given)});
  const found = await answer.json().catch(() => ({message: "the studio does not answer"}));
  if (!answer.ok) throw new Error(found.message);
  return found;
}

// ---- editor

const gutter = h("div", {className: "gutter", "aria-hidden": "true"}), paint = h("pre", {"aria-hidden": "true"});
const text = h("textarea", {value: start.text, spellcheck: false, wrap: "off", "aria-label": "rules", autocapitalize: "off", autocomplete: "off"});
const sheet = h("div", {className: "sheet"}, paint, text), problems = h("div", {className: "problems", role: "status", "aria-label": "problems"});
let found = [], timer = 0, version = 0, saved = start.text, predicates = new Set();

function drawText() {
  const value = text.value, pieces = [], marks = found.map(one => ({...one, end: Math.max(one.end, one.start + 1)}));
  const word = /(\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|("(?:[^"\\\n]|\\.)*")|(\b(?:EXIST|FORALL|v)\b)|([A-Za-z_][\w-]*)|((?:^|(?<=\n))\s*-?(?:\d[\d.]*(?:e-?\d+)?|inf)(?=\s))|(\s+|.)/gy;
  let at = 0;
  const cut = (piece, kind) => {
    const end = at + piece.length, edges = [at, ...marks.flatMap(one => [one.start, one.end]).filter(e => e > at && e < end).sort((a, b) => a - b), end];
    for (let i = 0; i + 1 < edges.length; i++) {
      const mark = marks.find(one => one.start <= edges[i] && edges[i] < one.end), names = [kind, mark ? (mark.error ? "bad" : "odd") : ""].join(" ").trim();
      const part = value.slice(edges[i], edges[i + 1]);
      pieces.push(names ? h("span", {className: names}, part) : part);
    }
    at = end;
  };
  for (const one of value.matchAll(word)) cut(one[0], one[1] ? "c" : one[3] ? "k" : one[5] ? "w" : one[4] && predicates.has(one[4]) ? "p" : "");
  paint.replaceChildren(...pieces, "\n");
  const byLine = new Map(found.map(one => [one.line, one.error]));
  gutter.replaceChildren(...value.split("\n").map((_, row) => h("div", {className: byLine.has(row + 1) ? (byLine.get(row + 1) ? "bad" : "odd") : ""}, String(row + 1))));
  follow();
}

function follow() {
  paint.style.transform = `translate(${-text.scrollLeft}px, ${-text.scrollTop}px)`;
  gutter.scrollTop = text.scrollTop;
}

async function check() {
  const own = ++version;
  const answer = await ask("check", {text: text.value, path: path.value}).catch(error => ({problems: [], predicates: [], failed: error.message}));
  if (own !== version) return;
  found = answer.problems;
  predicates = new Set(answer.predicates);
  showProblems();
  drawText();
}

function showProblems(extra = []) {
  problems.replaceChildren(...[...found, ...extra].map(one => h("button", {type: "button", className: one.error ? "bad" : "odd", onclick: () => go(one.start, one.end)}, `${one.line ? `line ${one.line}: ` : ""}${one.message}`)));
}

function go(from, to) {
  text.focus();
  text.setSelectionRange(from, to);
  text.scrollTop = Math.max(0, (text.value.slice(0, from).split("\n").length - 5) * 20);
}

function edited() {
  found = [];
  drawText();
  clearTimeout(timer);
  timer = setTimeout(check, SETTLE);
  showSaved();
}

// ---- completions

const list = h("ul", {className: "completions", role: "listbox", hidden: true});
sheet.append(list);
let offered = [], chosen = 0, prefix = "";

async function complete() {
  const offset = text.selectionStart, before = text.value.slice(0, offset);
  prefix = before.match(/[A-Za-z_"][\w-]*$/)?.[0] ?? "";
  const inside = /[(,]\s*$/.test(before);
  if (!prefix && !inside) { list.hidden = true; return; }
  const wanted = prefix.toLowerCase(), names = await ask("complete", {text: text.value, path: path.value, offset}).catch(() => []);
  if (offset !== text.selectionStart) return;
  offered = names.filter(one => one.name.toLowerCase().startsWith(wanted) && one.name !== prefix).slice(0, 12);
  chosen = 0;
  const line = before.split("\n");
  list.style.left = `${Math.max(0, 10 + (line.at(-1).length - prefix.length) * letter() - text.scrollLeft)}px`;
  list.style.top = `${8 + line.length * 20 - text.scrollTop}px`;
  drawList();
}

let width = 0;
function letter() {
  if (!width) { const probe = h("span", {style: "visibility: hidden; position: absolute"}, "0".repeat(100)); paint.append(probe); width = probe.getBoundingClientRect().width / 100; probe.remove(); }
  return width;
}

function drawList() {
  list.hidden = !offered.length;
  list.replaceChildren(...offered.map((one, at) => h("li", {role: "option", "aria-selected": String(at === chosen), onmousedown: event => { event.preventDefault(); chosen = at; take(); }}, h("span", {}, one.name), h("span", {className: "dim"}, one.detail || one.kind))));
}

function take() {
  const at = text.selectionStart, one = offered[chosen];
  text.setRangeText(one.name + (one.kind === "predicate" && one.detail.includes("(") && text.value[at] !== "(" ? "(" : ""), at - prefix.length, at, "end");
  list.hidden = true;
  edited();
}

text.addEventListener("keydown", event => {
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter") { event.preventDefault(); run(); return; }
  if ((event.ctrlKey || event.metaKey) && event.key === "s") { event.preventDefault(); save(); return; }
  if ((event.ctrlKey || event.metaKey) && event.key === " ") { event.preventDefault(); complete(); return; }
  if (list.hidden) return;
  if (event.key === "Escape") list.hidden = true;
  else if (event.key === "Tab" || event.key === "Enter") { event.preventDefault(); take(); }
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); chosen = (chosen + (event.key === "ArrowDown" ? 1 : offered.length - 1)) % offered.length; drawList(); }
});
text.addEventListener("input", () => { edited(); complete(); });
text.addEventListener("scroll", follow);
text.addEventListener("blur", () => { list.hidden = true; });

// ---- files, query, options

const path = h("input", {className: "path", value: start.path || "rules.mln", "aria-label": "file name", onchange: check});
const evidence = h("input", {value: start.evidence.join(" ; "), placeholder: "facts.db ; Friends=friends.csv", "aria-label": "evidence", onchange: () => { changes = []; loadFacts(); }});
const query = h("input", {value: start.query.join(", "), placeholder: "Smokes, Cancer(Bob)", "aria-label": "query", onkeydown: event => { if (event.key === "Enter") run(); }});
const method = h("select", {"aria-label": "method"}, ["auto", "exact", "lifted", "gibbs", "mcsat", "tempered", "partition", "bp"].map(name => h("option", {}, name)));
const draws = h("input", {type: "number", min: 1, placeholder: "draws", "aria-label": "draws"}), limit = h("input", {type: "number", min: 1, placeholder: "seconds", "aria-label": "time limit"});
const traces = h("input", {type: "checkbox", "aria-label": "traces"}), status = h("span", {className: "status dim", role: "status"});
const button = (name, press, more = "") => h("button", {type: "button", className: `act ${more}`, onclick: press}, name);
const [runButton, stopButton, explainButton, learnButton] = [button("Run", run, "main run"), button("Stop", stop, "stop"), button("Explain plan", explain, "explain"), button("Learn weights", learn, "learn")];
stopButton.disabled = true;

const sources = () => evidence.value.split(";").map(one => one.trim()).filter(Boolean);
const job = what => ({do: what, text: text.value, path: path.value, evidence: sources(), query: query.value, changes,
  method: method.value, ...(draws.value ? {draws: Number(draws.value)} : {}), ...(limit.value ? {time_limit: Number(limit.value)} : {}), ...(traces.checked ? {traces: true} : {})});

async function save() {
  try {
    const answer = await ask("save", {path: path.value, text: text.value});
    path.value = answer.path;
    saved = text.value;
    status.textContent = `saved ${answer.path}`;
  } catch (error) { status.textContent = error.message; }
}

function showSaved() { status.textContent = text.value === saved ? "" : "not saved"; }

async function tidy() {
  try { text.value = (await ask("format", {text: text.value, path: path.value})).text; edited(); } catch (error) { status.textContent = error.message; }
}

// ---- work

const progress = h("div", {className: "progress", hidden: true}), messages = h("div"), plan = h("div"), result = h("div", {className: "result"}, h("div", {className: "empty"}, "Run the rules to see probabilities, and why they are what they are."));
let running = 0, view = null;

async function work(given, {quiet = false, keep = false} = {}) {
  if (!quiet) { running++; if (!keep) messages.replaceChildren(); stopButton.disabled = false; for (const one of [runButton, explainButton, learnButton]) one.disabled = true; showProgress({stage: "start"}); }
  try {
    const {id} = await ask("work", given);
    for (;;) {
      const now = await ask("state", {id});
      if (now.state === "running") { if (!quiet) showProgress(now.progress ?? {stage: "start"}); await new Promise(done => setTimeout(done, POLL)); continue; }
      if (now.state === "done") return now.result;
      const error = new Error(now.message);
      error.faults = now.faults ?? [];
      throw error;
    }
  } finally {
    if (!quiet) { running--; stopButton.disabled = running > 0 ? false : true; for (const one of [runButton, explainButton, learnButton]) one.disabled = running > 0; progress.hidden = true; }
  }
}

function showProgress(now) {
  progress.hidden = false;
  const share = now.total ? Math.min(1, now.done / now.total) : null;
  progress.classList.toggle("unknown", share === null);
  const track = h("i");
  if (share !== null) track.style.width = `${100 * share}%`;
  progress.replaceChildren(h("span", {className: "dim"}, `${now.stage}${share === null ? "" : ` ${Math.round(100 * share)} %`}${now.note ? `: ${now.note}` : ""}`), h("div", {className: "track"}, track));
}

function complain(error) {
  messages.replaceChildren(h("p", {className: "concern"}, error.message));
  const lines = text.value.split("\n"), starts = lines.map((_, at) => lines.slice(0, at).reduce((sum, line) => sum + line.length + 1, 0));
  const here = (error.faults ?? []).filter(one => one.line && one.file.endsWith(path.value)).map(one => ({...one, error: true, start: starts[one.line - 1] + Math.max(one.column - 1, 0), end: starts[one.line - 1] + (lines[one.line - 1] ?? "").length}));
  if (here.length && !found.length) { found = here; showProblems(); drawText(); }
}

async function run() {
  try {
    const data = await work(job("run"));
    plan.replaceChildren();
    if (view) view.update(data);
    else view = explore(result, data, {why: (atom, changed) => work({do: "why", atom, changes: changed}, {keep: true})});
    if (data.comparison) messages.replaceChildren(h("p", {className: "dim moved"}, moved(data.comparison)));
  } catch (error) { complain(error); }
}

function moved(own) {
  const differ = own.atom.map((_, at) => at).filter(at => own.differs[at]), first = differ[0];
  return differ.length ? `${differ.length} of ${own.n_atoms} probabilities differ from the run before; ${own.atom[first]}: ${number(own.before[first])} → ${number(own.after[first])}` : "No probability differs from the run before.";
}

async function stop() { await ask("stop", {}); }

async function explain() {
  try {
    const own = await work(job("explain"));
    const size = value => value === null || value === undefined ? "?" : value.toLocaleString("en");
    const shown = own.candidates.filter(one => one.possible).map(one => [one.method, one.network ?? "", one.guarantee, one.seconds === null ? "" : one.seconds < 0.95 ? "< 1 s" : `~ ${Math.round(one.seconds)} s`, one.memory_bytes === null ? "" : one.memory_bytes < 1e5 ? "< 0.1 MB" : `${(one.memory_bytes / 1e6).toFixed(1)} MB`]);
    plan.replaceChildren(h("div", {className: "card plan"}, h("h2", {}, "Plan: ", own.plan.method), h("p", {}, own.plan.reason),
      h("p", {className: "dim"}, `${size(own.groundings)} groundings, ${size(own.atoms)} open atoms, ${size(own.clauses ?? own.clauses_at_most)} clauses, ${size(own.components)} components, the largest with ${size(own.largest_component)} atoms`), table(["Method", "Network", "Guarantee", "Time", "Memory"], shown)));
  } catch (error) { complain(error); }
}

async function learn() {
  try {
    const own = await work(job("learn"));
    text.value = own.text;
    edited();
    messages.replaceChildren(h("p", {className: "dim"}, "The rules have the learned weights now. They are not saved yet."), own.concerns.map(one => h("p", {className: "concern"}, one)));
  } catch (error) { complain(error); }
}

// ---- evidence

const facts = h("div", {className: "facts"});
let changes = [], known = {};

const search = h("input", {type: "search", placeholder: "Search facts", "aria-label": "search facts", oninput() { clearTimeout(sought); sought = setTimeout(loadFacts, SETTLE); }});
let sought = 0;

async function loadFacts() {
  if (!sources().length) { known = {}; drawFacts(); return; }
  try { known = (await work({...job("facts"), query: "", changes: [], search: search.value}, {quiet: true})).predicates; drawFacts(); }
  catch (error) { facts.replaceChildren(h("p", {className: "dim"}, error.message)); }
}

function toggle(fact) {
  const atom = fact.replace(/^[!?]/, ""), there = changes.find(one => one.replace(/^[!?]/, "") === atom);
  changes = changes.filter(one => one !== there);
  if (!there) changes.push(fact.startsWith("!") ? atom : `!${fact.replace(/^\?/, "")}`);
  drawFacts();
}

// One column for each argument; then the number, or whether it is true, which a click changes, and how probable it is.
function factTable(one, changed) {
  const soft = !one.has_numbers && one.facts.some(([, , says]) => says);
  const heads = [...one.columns, ...(one.has_numbers ? ["value"] : soft ? ["truth", "probability"] : ["truth"])];
  return h("table", {}, h("thead", {}, h("tr", {}, heads.map(head => h("th", {scope: "col"}, head)))), h("tbody", {}, one.facts.map(([fact, names, says]) => {
    const now = changed.get(fact.replace(/^[!?]/, "")), truth = {"!": "false", "?": "unknown"}[(now ?? fact)[0]] ?? "true";
    const flip = () => h("button", {type: "button", className: `chip${now ? " off" : ""}`, "aria-label": now ?? fact, title: now ? "take the change back" : "assume the opposite in the next run", onclick: () => toggle(fact)}, truth);
    return h("tr", {}, names.map(name => h("td", {}, name)), one.has_numbers ? h("td", {}, says) : [h("td", {}, flip()), soft ? h("td", {}, now ? "" : says) : null]);
  })));
}

function drawFacts() {
  const changed = new Map(changes.map(one => [one.replace(/^[!?]/, ""), one])), wanted = facts.querySelector("input")?.value ?? "";
  const own = h("input", {placeholder: "Change a fact: !Smokes(Ann)", "aria-label": "change a fact"});
  const form = h("form", {className: "tools", onsubmit: event => { event.preventDefault(); if (own.value.trim()) { changes.push(own.value.trim()); drawFacts(); } }}, own, button("Change", () => form.requestSubmit()));
  facts.replaceChildren(...Object.entries(known).filter(([, one]) => one.found).map(([name, one]) => h("details", {open: one.found <= 40 || opened.has(name), ontoggle() { this.open ? opened.add(name) : opened.delete(name); }}, h("summary", {}, `${name}: ${one.found < one.count ? `${one.found.toLocaleString("en")} of ` : ""}${one.count.toLocaleString("en")} ${one.count === 1 ? "fact" : "facts"}`),
    h("div", {className: "list"}, factTable(one, changed), one.found > one.facts.length ? h("p", {className: "dim"}, `and ${(one.found - one.facts.length).toLocaleString("en")} more`) : null))),
  form, changes.length ? h("p", {className: "changes"}, "Changed for the next run: ", changes.map(one => h("button", {type: "button", className: "chip off", onclick: () => { changes = changes.filter(other => other !== one); drawFacts(); }}, `${one} ✕`))) : "");
  if (wanted) own.value = "";
}
const opened = new Set();

root.replaceChildren(
  h("header", {className: "bar-top"}, h("h1", {}, "markovlogic studio"), path, button("Save", save, "save"), button("Format", tidy, "format"), status),
  h("div", {className: "panes"},
    h("div", {className: "left"}, h("div", {className: "editor"}, gutter, sheet), problems,
      h("div", {className: "card fields"}, h("label", {}, "Evidence"), evidence, h("label", {}, "Query"), query, h("label", {}, "Method"), h("div", {className: "line"}, method, draws, limit, h("label", {}, traces, " traces"))),
      h("div", {className: "actions"}, runButton, stopButton, explainButton, learnButton),
      h("div", {className: "card"}, h("div", {className: "head"}, h("h2", {}, "Facts"), search), facts)),
    h("div", {className: "right"}, progress, messages, plan, result)));
drawText();
check();
drawFacts();
loadFacts();
