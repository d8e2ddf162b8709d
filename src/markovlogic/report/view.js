// Draws a result: answers, reasons, neighbourhood, clusters, convergence, calibration, comparison. One module for the HTML page,
// notebooks and the studio. `explore(root, data, host)`: data is the JSON of report/view_data.py; host.why(atom, changes), where
// there is one, gives a reason. Nothing is fetched, and texts never become markup.

const ROW = 26, MARGIN = 30;  // pixels of a row; rows drawn above and below the window
const MOST_RULES = 12, MOST_NEIGHBOURS = 16, MOST_DOTS = 3000, MOST_CARDS = 60;

function h(tag, given = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else if (name === "style") Object.assign(made.style, value);
    else if (name in made && !name.includes("-")) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.flat(Infinity).filter(one => one !== null && one !== undefined && one !== false));
  return made;
}

function s(tag, given = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
  made.append(...children.flat(Infinity));
  return made;
}

const count = (number, what = "") => number.toLocaleString("en") + (what ? ` ${what}${number === 1 ? "" : "s"}` : "");
const signed = value => value === null ? "∞" : (value < 0 ? "−" : "+") + Math.abs(value).toFixed(3);
const percent = share => `${100 * Math.min(Math.max(share, 0), 1)}%`;

export function number(p, digits = 4) {
  if (p === null || p === undefined) return "";
  if (Math.abs(p) >= 1e308) return "inf";
  if (p === 0 || p === 1) return String(p);
  return Math.abs(p) < 10 ** (1 - digits) ? p.toExponential(2) : p.toFixed(digits);
}

function withError(p, stderr) {
  return number(p) + (stderr ? ` ± ${Number(stderr.toPrecision(2))}` : "");
}

function bar(p, stderr) {
  if (p === null) return h("div", {class: "bar"});
  const low = Math.max(0, p - 1.96 * (stderr || 0)), high = Math.min(1, p + 1.96 * (stderr || 0));
  return h("div", {class: "bar"}, h("i", {style: {width: percent(p)}}),
    stderr ? h("b", {style: {left: percent(low), width: percent(high - low)}}) : null);
}

// ---- answers

function answersPanel(state) {
  const data = state.data.answers, everything = data.atom.map((_, row) => row), lower = data.atom.map(text => text.toLowerCase());
  let shown = everything, key = state.sort?.key ?? "probability", ascending = state.sort?.ascending ?? false;
  const filter = h("input", {type: "search", placeholder: "Search atoms", "aria-label": "search atoms", oninput: select, value: state.search ?? ""});
  const chosen = h("select", {"aria-label": "predicate", onchange: select}, h("option", {value: ""}, "all predicates"),
    data.predicates.map((name, at) => h("option", {value: at}, name)), data.predicate.includes(-1) ? h("option", {value: -1}, "formulas") : null);
  const uncertain = h("button", {class: "act uncertain", type: "button", onclick: () => { key = "uncertain"; ascending = true; sort(); }}, "Most uncertain first");
  const explained = Object.keys(state.data.why).length && !state.host.why ? h("button", {class: "act explained", type: "button", "aria-pressed": "false",
    onclick() { this.setAttribute("aria-pressed", this.getAttribute("aria-pressed") !== "true"); select(); }}, "Explained") : null;
  const total = h("span", {class: "count dim", role: "status"});
  const body = h("tbody"), head = h("tr");
  const view = h("div", {class: "window", onscroll: () => requestAnimationFrame(scrolled), tabIndex: 0, onkeydown: move, "aria-label": "answers"},
    h("table", {class: "rows"}, h("thead", {}, head), body));
  const titles = {atom: "Atom", probability: "Probability", stderr: "± error", rhat: "R-hat", ess: "ESS"};
  const columns = data.columns;
  for (const column of ["atom", "bar", ...columns]) {
    if (column === "bar") { head.append(h("th", {class: "wide"})); continue; }
    const sorts = () => { ascending = key === column ? !ascending : column === "atom"; key = column; sort(); };
    const narrow = column === "rhat" || column === "ess" ? "wide " : "";
    head.append(h("th", {class: narrow + (column === "atom" ? "" : "n"), "data-column": column, onclick: sorts}, h("button", {type: "button"}, titles[column], h("span"))));
  }

  function cell(column, value) {
    if (column === "ess" && value !== null) return (value >= data.most_ess ? "≥ " : "") + count(Math.round(value));
    if (column === "rhat") return value === null ? "" : value >= 1e308 ? "inf" : value.toFixed(3);
    return column === "stderr" ? (value ? String(Number(value.toPrecision(2))) : number(value)) : number(value);
  }

  function sort() {
    const by = key === "atom" ? everything : key === "uncertain" ? data.probability.map(p => p === null ? null : Math.abs(p - 0.5)) : data[key];
    const sign = ascending ? 1 : -1;
    shown.sort((a, b) => {
      const x = by[a], y = by[b];
      if (x === y) return a - b;
      if (x === null || y === null) return x === null ? 1 : -1;  // what is undefined comes last either way
      return x < y ? -sign : sign;
    });
    for (const th of head.querySelectorAll("[data-column]")) {
      const own = th.dataset.column === key;
      th.setAttribute("aria-sort", own ? (ascending ? "ascending" : "descending") : "none");
      th.querySelector("span").textContent = own ? (ascending ? " ▲" : " ▼") : "";
    }
    state.sort = {key, ascending};
    view.scrollTop = 0;
    draw();
  }

  function select() {
    const wanted = filter.value.trim().toLowerCase(), predicate = chosen.value === "" ? null : Number(chosen.value);
    const only = explained?.getAttribute("aria-pressed") === "true";
    state.search = filter.value;
    shown = everything.filter(row => (predicate === null || data.predicate[row] === predicate) && lower[row].includes(wanted)
      && (!only || data.atom[row] in state.data.why));
    total.textContent = `${count(shown.length)} of ${count(everything.length)} rows`;
    sort();
  }

  const spacer = rows => h("tr", {}, h("td", {colSpan: 2 + columns.length, style: {height: `${rows * ROW}px`, padding: 0}}));

  let first = 0, last = 0;  // rows that are drawn
  const seen = margin => [Math.max(0, Math.floor(view.scrollTop / ROW) - margin), Math.min(shown.length, Math.ceil((view.scrollTop + Math.max(view.clientHeight, 640)) / ROW) + margin)];

  function scrolled() {
    const [from, to] = seen(2);
    if (from < first || to > last) draw();
  }

  function draw() {
    [first, last] = seen(MARGIN);
    const lines = first > 0 ? [spacer(first)] : [];
    for (let at = first; at < last; at++) {
      const row = shown[at], name = data.atom[row];
      lines.push(h("tr", {class: "row", "aria-selected": String(name === state.selected), onclick: () => state.select(name)},
        h("td", {title: name}, h("code", {}, name), name in state.data.why && !state.host.why ? h("span", {class: "mark", title: "explained on this page"}, "◆") : null),
        h("td", {class: "wide"}, bar(data.probability[row], data.stderr?.[row])),
        columns.map(column => h("td", {class: (column === "rhat" || column === "ess" ? "wide " : "") + "n", title: data[column][row] ?? ""}, cell(column, data[column][row])))));
    }
    if (last < shown.length) lines.push(spacer(shown.length - last));
    body.replaceChildren(...lines);
  }

  function move(event) {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (!step || !shown.length) return;
    event.preventDefault();
    const now = shown.findIndex(row => data.atom[row] === state.selected);
    const next = now < 0 ? 0 : Math.min(Math.max(now + step, 0), shown.length - 1);
    const top = next * ROW;
    if (top < view.scrollTop || top > view.scrollTop + view.clientHeight - 3 * ROW) view.scrollTop = Math.max(0, top - view.clientHeight / 2);
    state.select(data.atom[shown[next]]);
  }

  state.redraw = draw;
  const side = h("div", {class: "side"});
  state.side = side;
  select();
  queueMicrotask(() => { draw(); detail(state); });
  const left = h("div", {}, h("div", {class: "tools"}, filter, chosen, uncertain, explained), view,
    h("p", {}, total), state.data.left_out ? h("p", {class: "dim"}, state.data.left_out) : null);
  return h("div", {class: "two"}, left, side);
}

// ---- why

async function detail(state) {
  const side = state.side, atom = state.selected;
  if (!side) return;
  if (!atom) {
    side.replaceChildren(h("div", {class: "card"}, h("h2", {}, "How the probabilities spread"), histogram(state.data.answers.probability, 0, 1, 20),
      h("p", {class: "dim"}, "Select an atom to see what raises and lowers its probability.")));
    return;
  }
  if (state.host.why && !(atom in state.data.why) || state.changes.length) {
    const asked = ++state.asked;
    side.classList.add("waits");
    try {
      const found = await state.host.why(atom, state.changes);
      if (asked !== state.asked) return;
      side.replaceChildren(...reasonCards(state, found));
      if (!state.changes.length) state.data.why[atom] = found;
    } catch (error) {
      if (asked !== state.asked) return;
      side.replaceChildren(h("div", {class: "card"}, h("h2", {class: "code"}, atom), assumed(state), h("p", {class: "concern"}, String(error.message ?? error))));
    } finally {
      if (asked === state.asked) side.classList.remove("waits");
    }
    return;
  }
  state.asked++;
  side.classList.remove("waits");
  const found = state.data.why[atom];
  side.replaceChildren(...(found ? reasonCards(state, found) : [notExplained(state, atom)]));
}

function notExplained(state, atom) {
  const row = state.data.answers.atom.indexOf(atom), data = state.data.answers;
  const known = row < 0 ? null : h("div", {class: "big"}, withError(data.probability[row], data.stderr?.[row]));
  const marked = Object.keys(state.data.why).length;
  return h("div", {class: "card"}, h("h2", {class: "code"}, atom), known, traceOf(state, atom),
    h("p", {class: "dim"}, marked ? `This page explains ${count(marked, "atom")}, marked with ◆. ` : "This page holds no explanations: write it with --why N. ", "For this one run:"),
    h("p", {}, h("code", {}, state.data.why_command.replace("ATOM", `'${atom}'`))));
}

function chip(state, text) {
  if (!state.host.why) return h("span", {class: "chip"}, text);
  const other = text.startsWith("!") ? text.slice(1) : `!${text}`;
  return h("button", {class: "chip", type: "button", title: `assume ${other} instead`, onclick: () => state.toggle(other)}, text);
}

function assumed(state) {
  if (!state.host.why) return null;
  const own = h("input", {placeholder: "Assume a fact: !Smokes(Ann)", "aria-label": "assume a fact", style: {flex: "1 1 160px"}});
  const form = h("form", {class: "tools", style: {margin: "10px 0 0"}, onsubmit(event) { event.preventDefault(); if (own.value.trim()) state.toggle(own.value.trim()); }},
    state.changes.map(text => h("button", {class: "chip on", type: "button", title: "take it back", onclick: () => state.toggle(text)}, `${text} ✕`)), own,
    h("button", {class: "act", type: "submit"}, "Assume"));
  return form;
}

export function reasonCards(state, found) {
  const cards = [h("div", {class: "card why"}, ...whyParts(state, found))];
  if (found.neighbourhood?.length) cards.push(h("div", {class: "card neighbours"}, h("h2", {}, "Neighbourhood"), neighbourhood(state, found)));
  const trace = traceOf(state, found.atom);
  if (trace) cards.push(h("div", {class: "card"}, trace));
  return cards;
}

function whyParts(state, found) {
  const parts = [h("h2", {class: "code", style: {overflowWrap: "anywhere"}}, found.atom),
    h("div", {class: "head"}, h("span", {class: "big"}, withError(found.probability, found.stderr)),
      found.logit === null ? null : h("span", {class: "dim"}, `log-odds ${signed(found.logit)}`)), bar(found.probability, found.stderr)];
  if (found.before) {
    parts.push(h("p", {class: "before"}, "As it is: ", h("b", {}, withError(found.before.probability, found.before.stderr))), bar(found.before.probability, found.before.stderr));
  }
  parts.push(assumed(state));
  for (const text of found.concerns ?? []) parts.push(h("p", {class: "concern"}, text));
  if (found.decided?.length) {
    parts.push(h("h3", {}, "Decided by these facts and rules"), h("ol", {class: "chain"}, found.decided.map(step => h("li", {}, h("code", {}, step.literal), ": ",
      step.by === "evidence" ? "evidence" : h("code", {}, step.by), step.place ? h("span", {class: "dim"}, ` ${step.place}`) : null,
      step.needs.length ? [", since ", step.needs.map(text => chip(state, text))] : null))));
    return [...parts, notes(found)];
  }
  if (found.logit === null) return [...parts, h("p", {class: "dim"}, "Evidence and hard rules decide it."), notes(found)];
  return [...parts, h("h3", {}, "What raises and lowers it"), waterfall(state, found), found.pair?.through.length ? byRecord(found.pair) : null, notes(found)];
}

function byRecord({direct, through, rest}) {
  const most = 8, others = rest + through.slice(most).reduce((sum, one) => sum + one.log_odds, 0);
  const rows = [["the pair itself", direct], ...through.slice(0, most).map(one => [h("span", {}, "through ", h("code", {}, one.record)), one.log_odds])];
  if (Math.abs(others) >= 5e-4) rows.push(["other pairs", others]);
  return h("div", {class: "by-record"}, h("h3", {}, "By records"), h("table", {}, h("tbody", {}, rows.map(([what, value]) => h("tr", {}, h("td", {}, what), h("td", {class: "n"}, signed(value)))))));
}

const notes = found => (found.notes ?? []).length ? h("p", {class: "dim"}, found.notes.join(" ")) : null;

export function waterfall(state, found) {
  const steps = [{rule: "Hard rules alone", log_odds: found.base, stderr: found.base_stderr, plain: true, from: 0, to: found.base}];
  let at = found.base;
  for (const one of found.contributions) { steps.push({...one, from: at, to: at + one.log_odds}); at += one.log_odds; }
  steps.push({rule: "Log-odds", log_odds: found.logit, stderr: 0, plain: true, sum: true, from: 0, to: found.logit});
  const ends = steps.flatMap(one => [one.from, one.to]);
  let low = Math.min(0, ...ends), high = Math.max(0, ...ends);
  const pad = 0.06 * (high - low || 1);
  low -= pad; high += pad;
  const x = value => 100 * (value - low) / (high - low);
  const made = steps.map((one, order) => {
    const left = Math.min(one.from, one.to), kind = one.plain ? "total" : one.log_odds < 0 ? "down" : "up";
    const track = h("div", {class: "track"}, h("s", {style: {left: `${x(0)}%`}}), h("i", {class: kind, style: {left: `${x(left)}%`, width: `${Math.abs(x(one.to) - x(one.from))}%`}}),
      one.stderr ? h("u", {style: {left: `${x(one.to - 1.96 * one.stderr)}%`, width: `${x(one.to + 1.96 * one.stderr) - x(one.to - 1.96 * one.stderr)}%`}}) : null);
    const error = one.stderr ? h("span", {class: "dim"}, ` ± ${Number(one.stderr.toPrecision(2))}`) : null;
    const label = one.plain ? h("span", {class: "dim"}, one.rule) : h("span", {}, h("span", {class: "dim"}, `${order} `), h("code", {title: one.place}, one.rule));
    return h("div", {class: `step${one.sum ? " sum" : ""}`}, h("div", {class: "label"}, label, h("span", {class: "value"}, signed(one.log_odds), error)), track, one.plain ? null : instances(state, one));
  });
  const ticks = [];
  for (const p of [0.5, 0.1, 0.9, 0.01, 0.99, 0.001, 0.999, 0.3, 0.7, 0.2, 0.8, 0.4, 0.6]) {  // the probabilities that log-odds stand for
    const at = x(Math.log(p / (1 - p)));
    if (at > 3 && at < 97 && ticks.every(([, other]) => Math.abs(at - other) > 9)) ticks.push([p, at]);
  }
  return h("div", {class: "steps"}, made, h("div", {class: "ticks"}, ticks.map(([p, at]) => h("span", {style: {left: `${at}%`}}, `${Number((100 * p).toPrecision(3))}%`))));
}

function instances(state, one) {
  const rows = one.groundings.map(ground => h("li", {}, h("span", {class: "dim"}, `${signed(ground.log_odds)} `), h("code", {}, ground.text),
    ground.facts.length ? [h("span", {class: "dim"}, " because "), ground.facts.map(text => chip(state, text))] : null));
  const more = one.n_groundings - one.groundings.length;
  const without = `without it ${withError(one.without, one.without_stderr)}`;
  return h("details", {}, h("summary", {}, `${without} · ${count(one.n_groundings, "grounding")}${one.place ? ` · ${one.place}` : ""}`),
    h("ul", {}, rows, more > 0 ? h("li", {class: "dim"}, `and ${count(more)} more with smaller parts`) : null));
}

// ---- neighbourhood: other atoms on the left, ground rules in the middle, the atom on the right

export function neighbourhood(state, found) {
  const rules = found.neighbourhood.slice(0, MOST_RULES), order = new Map(found.contributions.map((one, at) => [`${one.place} ${one.rule}`, at + 1]));
  const atoms = new Map();
  rules.forEach((one, at) => {
    for (const literal of one.literals) {
      const name = literal.replace(/^!/, "");
      if (name !== found.atom) (atoms.get(name) ?? atoms.set(name, {known: false, rules: []}).get(name)).rules.push([at, literal.startsWith("!")]);
    }
    for (const fact of one.facts) {
      const name = fact.replace(/^!/, "");
      const own = atoms.get(name) ?? atoms.set(name, {known: true, fact, rules: []}).get(name);
      own.rules.push([at, fact.startsWith("!")]);
    }
  });
  let list = [...atoms.entries()].sort((a, b) => middle(a[1]) - middle(b[1]));
  const hidden = Math.max(0, list.length - MOST_NEIGHBOURS);
  list = list.slice(0, MOST_NEIGHBOURS);
  const step = 30, height = Math.max(rules.length, list.length, 2) * step + 8, width = Math.min(Math.max((state.side?.clientWidth || 560) - 36, 320), 620);
  const left = 0.46 * width, middleX = 0.6 * width;
  const yAtom = at => (at + 0.5) * height / Math.max(list.length, 1), yRule = at => (at + 0.5) * height / rules.length;
  const lines = [], marks = [];
  const target = {x: 0.72 * width, y: height / 2};
  rules.forEach((one, at) => {
    const number = order.get(`${one.place} ${one.rule}`), kind = one.log_odds < 0 ? "var(--down)" : one.log_odds > 0 ? "var(--up)" : "var(--total)";
    lines.push(s("path", {d: curve(middleX, yRule(at), target.x, target.y), fill: "none", stroke: kind, "stroke-width": 1.5}));
    marks.push(s("g", {}, s("title", {}, `${one.rule}${one.place ? `  (${one.place})` : ""}`), s("rect", {x: middleX - 11, y: yRule(at) - 11, width: 22, height: 22, rx: 4, fill: "var(--page)", stroke: kind, "stroke-width": 1.5}),
      s("text", {x: middleX, y: yRule(at) + 4, "text-anchor": "middle"}, number ? String(number) : "•")));
  });
  list.forEach(([name, own], at) => {
    for (const [rule, negated] of own.rules)
      lines.push(s("path", {d: curve(left, yAtom(at), middleX, yRule(rule)), fill: "none", stroke: "var(--total)", "stroke-width": 1.2, ...(negated ? {"stroke-dasharray": "4 3"} : {})}));
    const press = own.known ? (state.host.why ? () => state.toggle(own.fact.startsWith("!") ? own.fact.slice(1) : `!${own.fact}`) : null) : () => state.select(name);
    marks.push(pill(short(own.known ? own.fact : name, Math.floor(left / 7.2) - 2), 4, yAtom(at), left - 4, own.known, press, own.known ? own.fact : name));
  });
  marks.push(pill(short(found.atom, Math.floor((width - target.x) / 7.2) - 2), target.x, target.y, width - target.x - 4, false, null, found.atom, true));
  const more = found.neighbourhood.length - rules.length;
  return h("div", {}, h("div", {class: "scroll"}, s("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `neighbourhood of ${found.atom}`, style: `max-width: ${width}px`}, lines, marks)),
    h("p", {class: "dim"}, "Squares are ground rules, numbered as above; shaded atoms are known. Dashed: the rule names the negated atom, or the fact is false.",
      more > 0 ? ` ${count(more)} more ground rules are left out.` : "", hidden ? ` ${count(hidden)} more atoms are left out.` : ""));
}

const middle = own => own.rules.reduce((sum, [at]) => sum + at, 0) / own.rules.length;
const curve = (x, y, u, v) => `M${x},${y} C${(x + u) / 2},${y} ${(x + u) / 2},${v} ${u},${v}`;
const short = (text, most) => text.length > most ? `${text.slice(0, most - 1)}…` : text;

function pill(text, x, y, width, known, press, title, strong = false) {
  const made = s("g", press ? {style: "cursor: pointer", role: "button", tabindex: 0, class: "pill"} : {class: "pill"}, s("title", {}, title),
    s("rect", {x, y: y - 11, width, height: 22, rx: 11, fill: known ? "var(--line)" : strong ? "var(--tint)" : "var(--page)", stroke: strong ? "var(--accent)" : "var(--total)", "stroke-width": strong ? 1.6 : 1}),
    s("text", {x: x + width / 2, y: y + 4, "text-anchor": "middle", class: "m"}, text));
  if (press) {
    made.addEventListener("click", press);
    made.addEventListener("keydown", event => { if (event.key === "Enter") press(); });
  }
  return made;
}

// ---- charts

function axes(width, height, xTicks, yTicks, x, y, xTitle, yTitle) {
  return [xTicks.map(v => [s("line", {x1: x(v), x2: x(v), y1: 0, y2: height, stroke: "var(--line)"}), s("text", {x: x(v), y: height + 15, "text-anchor": "middle", class: "dim"}, String(v))]),
    yTicks.map(v => [s("line", {x1: 0, x2: width, y1: y(v), y2: y(v), stroke: "var(--line)"}), s("text", {x: -6, y: y(v) + 4, "text-anchor": "end", class: "dim"}, String(v))]),
    s("text", {x: width / 2, y: height + 32, "text-anchor": "middle", class: "dim"}, xTitle),
    s("text", {x: -height / 2, y: -34, transform: "rotate(-90)", "text-anchor": "middle", class: "dim"}, yTitle)].flat(3);
}

export function histogram(values, low, high, bins, title = "") {
  const finite = values.filter(v => v !== null && Math.abs(v) < 1e308), counts = new Array(bins).fill(0);
  if (low === null) low = finite.reduce((a, b) => Math.min(a, b), Infinity);
  if (high === null) high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!(high > low)) high = low + (Math.abs(low) || 1) * 1e-3;
  for (const v of finite) counts[Math.min(bins - 1, Math.max(0, Math.floor(bins * (v - low) / (high - low))))]++;
  const most = Math.max(1, ...counts), width = 420, height = 120, wide = width / bins;
  const show = v => String(Number(v.toPrecision(4)));
  return s("svg", {viewBox: `-4 -14 ${width + 8} ${height + 34}`, role: "img", "aria-label": title || "histogram"},
    counts.map((n, at) => n ? [s("rect", {x: at * wide + 1, y: height - Math.max(2, height * n / most), width: wide - 2, height: Math.max(2, height * n / most), rx: 1.5, fill: "var(--accent)", opacity: .75},
      s("title", {}, `${show(low + at * (high - low) / bins)} to ${show(low + (at + 1) * (high - low) / bins)}: ${count(n, "row")}`)),
      n === most ? s("text", {x: (at + .5) * wide, y: -3, "text-anchor": "middle", class: "dim"}, count(n)) : []].flat() : []),
    s("line", {x1: 0, x2: width, y1: height + .5, y2: height + .5, stroke: "var(--line)"}),
    [[low, "start", 0], [(low + high) / 2, "middle", width / 2], [high, "end", width]].map(([v, anchor, x]) => s("text", {x, y: height + 16, "text-anchor": anchor, class: "dim"}, show(v))));
}

function square(lines, xTitle, yTitle, label) {
  const size = 360, x = v => v * size, y = v => size - v * size, ticks = [0, .25, .5, .75, 1];
  return s("svg", {viewBox: "-50 -10 424 416", role: "img", "aria-label": label, style: "max-width: 520px"}, axes(size, size, ticks, ticks, x, y, xTitle, yTitle),
    s("line", {x1: 0, y1: size, x2: size, y2: 0, stroke: "var(--total)", "stroke-dasharray": "4 4"}), lines(x, y));
}

function traceOf(state, atom) {
  const chains = state.data.traces?.atoms[atom];
  if (!chains) return null;
  const width = 420, height = 130, points = chains[0].length, x = at => points > 1 ? at * width / (points - 1) : 0, y = v => height - v * height;
  const shades = chains.map((_, at) => `hsl(${Math.round(205 + at * 137.5) % 360} 45% 55%)`);
  return h("div", {class: "trace"}, h("h3", {style: {marginTop: 0}}, `Running mean of ${count(chains.length, "chain")}: `, h("code", {}, atom)),
    s("svg", {viewBox: `-30 -6 ${width + 36} ${height + 42}`, role: "img", "aria-label": `trace of ${atom}`},
      axes(width, height, [0, points - 1], [0, .5, 1], x, y, `draw${state.data.traces.thin > 1 ? ` (one point stands for ${state.data.traces.thin} draws)` : ""}`, ""),
      chains.map((line, at) => s("polyline", {points: line.map((v, i) => `${x(i)},${y(v)}`).join(" "), fill: "none", stroke: shades[at], "stroke-width": 1.3, opacity: .8}))));
}

// ---- the other panels

function clustersPanel(state) {
  return h("div", {}, state.data.clusters.map(own => {
    let most = MOST_CARDS, wanted = "";
    const grid = h("div", {class: "grid"}), more = h("button", {class: "act", type: "button", onclick: () => { most += MOST_CARDS; draw(); }}, "Show more");
    const find = h("input", {type: "search", placeholder: "Search members", "aria-label": "search members", oninput() { wanted = this.value.trim().toLowerCase(); most = MOST_CARDS; draw(); }});
    function draw() {
      const fits = own.clusters.filter(one => !wanted || one.members.some(name => name.toLowerCase().includes(wanted)));
      grid.replaceChildren(...fits.slice(0, most).map(one => clusterCard(state, own.predicate, one)));
      more.hidden = fits.length <= most;
    }
    draw();
    return [h("h2", {}, `${own.predicate}: ${count(own.clusters.length, "cluster")} of two or more`), h("p", {class: "dim"}, own.note), h("div", {class: "tools"}, find), grid, h("p", {}, more)];
  }).flat());
}

function clusterCard(state, predicate, one) {
  const n = one.members.length, radius = n > 2 ? 62 : 46, place = at => { const angle = 2 * Math.PI * at / n - Math.PI / 2; return [150 + 1.35 * radius * Math.sin(angle + Math.PI / 2), 85 - radius * Math.cos(angle + Math.PI / 2)]; };
  const weak = one.weakest, press = (a, b) => { const name = [`${predicate}(${a},${b})`, `${predicate}(${b},${a})`].find(text => state.data.answers.atom.includes(text)); if (name) state.select(name, true); };
  const isWeak = (i, j) => weak && [one.members[i], one.members[j]].includes(weak[0]) && [one.members[i], one.members[j]].includes(weak[1]);
  const drawn = n > 12 ? null : s("svg", {viewBox: "0 0 300 170", role: "img", "aria-label": "cluster"},
    one.pairs.map(([i, j, p]) => { const [a, b] = place(i), [c, d] = place(j); return s("line", {x1: a, y1: b, x2: c, y2: d, stroke: isWeak(i, j) ? "var(--down)" : "var(--accent)", "stroke-width": 1 + 3 * p, opacity: .2 + .7 * p}, s("title", {}, `${one.members[i]} – ${one.members[j]}: ${number(p)}`)); }),
    one.members.map((name, at) => { const [a, b] = place(at); return [s("circle", {cx: a, cy: b, r: 5, fill: "var(--ink)"}), s("text", {x: a, y: b + (b < 85 ? -9 : 18), "text-anchor": "middle", class: "m"}, short(name, 16))]; }).flat());
  return h("div", {class: "card cluster"}, h("div", {class: "head"}, h("b", {}, count(n, "member")), one.probability === null ? null : h("span", {class: "dim"}, `exactly right: ${number(one.probability, 3)}`)),
    drawn ?? h("p", {class: "code", style: {overflowWrap: "anywhere", maxHeight: "120px", overflow: "auto"}}, one.members.join(", ")),
    weak ? h("p", {}, h("span", {class: "dim"}, "weakest link "), h("button", {class: "chip weakest", type: "button", onclick: () => press(weak[0], weak[1])}, `${weak[0]} – ${weak[1]}`), ` ${number(weak[2])}`) : null);
}

function convergencePanel(state) {
  const data = state.data.answers, cards = [];
  for (const [column, title] of [["rhat", "R-hat"], ["ess", "Effective sample size"]])
    if (data[column]?.some(v => v !== null)) cards.push(h("div", {class: "card"}, h("h2", {}, title), histogram(data[column], null, null, 24, title)));
  if (data.rhat) {
    const worst = data.atom.map((_, row) => row).filter(row => data.rhat[row] !== null).sort((a, b) => data.rhat[b] - data.rhat[a]).slice(0, 10);
    cards.push(h("div", {class: "card scroll"}, h("h2", {}, "Where chains agree least"), h("table", {class: "plain"}, h("thead", {}, h("tr", {}, ["Atom", "R-hat", "ESS"].map((t, at) => h("th", {class: at ? "n" : ""}, t)))),
      h("tbody", {}, worst.map(row => h("tr", {style: {cursor: "pointer"}, onclick: () => state.select(data.atom[row], true)}, h("td", {class: "code"}, data.atom[row]), h("td", {class: "n"}, number(data.rhat[row], 3)), h("td", {class: "n"}, data.ess?.[row] ? count(Math.round(data.ess[row])) : "")))))));
  }
  for (const atom of Object.keys(state.data.traces?.atoms ?? {}).slice(0, 12)) cards.push(h("div", {class: "card"}, traceOf(state, atom)));
  if (!state.data.traces) cards.push(h("p", {class: "dim"}, "Traces need draws that are kept: infer(…, keep_draws=True)."));
  const agreement = state.data.agreement;
  return h("div", {}, agreement ? h("p", {class: agreement.good ? "dim" : "concern"}, agreement.text) : null, h("div", {class: "grid"}, cards));
}

function calibrationPanel(state) {
  const {scores, columns, bins} = state.data.calibration, names = [...new Set(bins.map(one => one.predicate))];
  const shades = new Map(names.map((name, at) => [name, `hsl(${(207 + at * 137.5) % 360} 50% 52%)`]));
  const largest = Math.max(1, ...bins.map(one => one.atoms));
  const chart = square((x, y) => names.map(name => {
    const own = bins.filter(one => one.predicate === name);
    return [s("polyline", {points: own.map(one => `${x(one.predicted)},${y(one.true)}`).join(" "), fill: "none", stroke: shades.get(name), "stroke-width": 1.6}),
      own.map(one => s("circle", {cx: x(one.predicted), cy: y(one.true), r: 3 + 6 * Math.sqrt(one.atoms / largest), fill: shades.get(name), opacity: .85}, s("title", {}, `${name}: ${count(one.atoms, "atom")}, predicted ${number(one.predicted, 3)}, true ${number(one.true, 3)}`)))].flat();
  }).flat(), "mean probability of the bin", "share that is true", "calibration");
  return h("div", {class: "two"}, h("div", {class: "card"}, h("h2", {}, "Calibration"), chart, names.length > 1 ? h("p", {}, names.map(name => h("span", {style: {marginRight: "14px"}}, h("b", {style: {color: shades.get(name)}}, "● "), name))) : null),
    h("div", {class: "card scroll"}, h("h2", {}, "Scores"), table(["Score", ...scores.map(one => one.predicate)], columns.map(([key, label]) => [label, ...scores.map(one => typeof one[key] === "number" && !Number.isInteger(one[key]) ? one[key].toFixed(4) : one[key] === null ? "–" : count(one[key]))]))));
}

function comparisonPanel(state) {
  const own = state.data.comparison, rows = own.atom.map((_, at) => at), dots = rows.slice(0, MOST_DOTS).reverse();
  const chart = square((x, y) => dots.filter(at => own.before[at] !== null && own.after[at] !== null).map(at => s("circle", {cx: x(own.before[at]), cy: y(own.after[at]), r: own.differs[at] ? 4 : 2.5, fill: own.differs[at] ? "var(--down)" : "var(--total)", opacity: own.differs[at] ? .9 : .55},
    s("title", {}, `${own.atom[at]}: ${number(own.before[at])} → ${number(own.after[at])}`))), own.first, own.second, "two results");
  const differ = rows.filter(at => own.differs[at]);
  return h("div", {}, h("p", {}, `${count(differ.length)} of ${count(own.n_atoms)} atoms differ beyond their errors.`, own.only_first || own.only_second ? ` Only in the first: ${count(own.only_first)}; only in the second: ${count(own.only_second)}.` : ""),
    h("div", {class: "two"}, h("div", {class: "card"}, chart, own.n_atoms > dots.length ? h("p", {class: "dim"}, `${count(dots.length)} dots are shown, the largest differences first.`) : null),
      h("div", {class: "side"}, h("div", {class: "card scroll"}, h("h2", {}, "By predicate"), table(["Predicate", "Compared", "Differ", "Mean change", "Largest"], own.predicates.map(one => [one.predicate, count(one.compared), count(one.differ), number(one.mean), number(one.largest)]))),
        h("div", {class: "card scroll changes"}, h("h2", {}, "What differs"), differ.length ? table(["Atom", own.first, own.second, "Change"], differ.slice(0, 200).map(at => [own.atom[at], number(own.before[at]), number(own.after[at]), signed(own.after[at] - own.before[at])]), at => state.select(own.atom[differ[at]], true)) : h("p", {class: "dim"}, "Nothing beyond the errors."),
          differ.length > 200 ? h("p", {class: "dim"}, `and ${count(differ.length - 200)} more`) : null))));
}

export function table(head, rows, press = null) {
  return h("table", {class: "plain"}, h("thead", {}, h("tr", {}, head.map((text, at) => h("th", {class: at ? "n" : ""}, text)))),
    h("tbody", {}, rows.map((row, number) => h("tr", press ? {style: {cursor: "pointer"}, onclick: () => press(number)} : {}, row.map((text, at) => h("td", {class: at ? "n" : "code"}, String(text)))))));
}

const runPanel = state => h("div", {class: "card scroll"}, h("table", {class: "run"}, h("tbody", {}, state.data.run.map(([name, text]) => h("tr", {}, h("th", {class: "dim"}, name), h("td", {style: {whiteSpace: "normal", overflowWrap: "anywhere"}}, text))))));

function reasonPanel(state) {
  const first = Object.keys(state.data.why)[0];
  return h("div", {class: "side"}, ...reasonCards(state, state.data.why[first]));
}

const PANELS = [
  ["answers", "Answers", answersPanel, data => data.answers.atom.length > 0 || !Object.keys(data.why).length && !data.comparison && !data.calibration],
  ["why", "Why", reasonPanel, data => !data.answers.atom.length && Object.keys(data.why).length > 0],
  ["clusters", "Clusters", clustersPanel, data => data.clusters.length > 0],
  ["convergence", "Convergence", convergencePanel, data => Boolean(data.agreement || data.answers.rhat)],
  ["calibration", "Calibration", calibrationPanel, data => Boolean(data.calibration)],
  ["comparison", "Comparison", comparisonPanel, data => Boolean(data.comparison)],
  ["run", "Run", runPanel, data => data.run.length > 0],
];

export function explore(root, data, host = {}) {
  const state = {data, host, changes: [], asked: 0, selected: data.selected ?? null, panel: null};
  const panel = h("div", {role: "tabpanel"});

  function show(name) {
    const there = PANELS.filter(one => one[3](state.data));
    const own = there.find(one => one[0] === name) ?? there[0];
    state.panel = own[0];
    state.side = null;
    tabs.replaceChildren(...(there.length > 1 ? there : []).map(one => h("button", {role: "tab", type: "button", "aria-selected": String(one === own), "data-panel": one[0], onclick: () => show(one[0])}, one[1])));
    tabs.hidden = there.length < 2;
    panel.replaceChildren(own[2](state));
  }

  state.select = (atom, elsewhere = false) => {
    if (atom !== state.selected) state.changes = [];
    state.selected = atom;
    host.selected?.(atom);
    if (elsewhere || state.panel !== "answers") show("answers");
    else { state.redraw(); detail(state); }
  };
  state.toggle = change => {
    const atom = change.replace(/^[!?]/, ""), there = state.changes.includes(change);
    state.changes = state.changes.filter(one => one.replace(/^[!?]/, "") !== atom);
    if (!there) state.changes.push(change);
    detail(state);
  };
  const tabs = h("div", {role: "tablist"});
  const top = h("header");
  const draw = () => {
    const now = state.data;
    top.replaceChildren(...[now.title || now.guarantee ? h("div", {class: "head"}, now.title ? h("h1", {}, now.title) : null, now.guarantee ? h("span", {class: "word", title: now.guarantee.meaning}, now.guarantee.word) : null) : null,
      now.summary ? h("p", {class: "dim"}, now.summary) : null, now.guarantee ? h("p", {class: "dim meaning"}, now.guarantee.meaning) : null, now.compression ? h("p", {class: "compression"}, now.compression) : null,
      ...now.concerns.map(text => h("p", {class: "concern"}, text))].filter(Boolean));
    show(state.panel);
  };
  root.classList.add("mln");
  root.replaceChildren(top, tabs, panel);
  draw();
  return {select: state.select, show, state, redraw: draw, update(next) { state.data = next; state.changes = []; if (!next.answers.atom.includes(state.selected)) state.selected = null; draw(); }};
}

// ---- the widget of notebooks: explanations are requested from the running program
export default {
  render({model, el}) {
    const waiting = new Map();
    let last = 0;
    const why = (atom, changes) => new Promise((resolve, reject) => { waiting.set(++last, {resolve, reject}); model.send({id: last, atom, changes}); });
    const answered = message => {
      if (message.live) { host.why = why; view.redraw(); return; }
      const asked = waiting.get(message.id);
      waiting.delete(message.id);
      if (asked) message.error ? asked.reject(new Error(message.error)) : asked.resolve(message.found);
    };
    model.on("msg:custom", answered);
    const data = () => JSON.parse(model.get("data"));
    const host = {selected: atom => { model.set("selected", atom ?? ""); model.save_changes(); }};
    const view = explore(el, data(), host);
    const changed = () => view.update(data());
    model.on("change:data", changed);
    model.send({live: null});  // a saved notebook has no program that answers: what the page holds is shown then
    return () => { model.off("msg:custom", answered); model.off("change:data", changed); };
  },
};
