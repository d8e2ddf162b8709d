// The table of the page: sorted, filtered, and drawn only where it can be seen, so that 50,000 rows scroll as ten do.
const data = JSON.parse(document.getElementById("data").textContent);
const ROW = 24, MARGIN = 30;  // pixels of a row; rows drawn above and below the window
const everything = data.atom.map((_, row) => row);
const lower = data.atom.map(text => text.toLowerCase());
const filter = document.getElementById("filter"), chosen = document.getElementById("predicate");
const view = document.getElementById("window"), body = document.querySelector("#rows tbody");
let shown = everything, key = data.columns.length ? "probability" : "atom", ascending = false;

const digits = {probability: 8, stderr: 3, rhat: 5};
function cell(column, value) {
  if (value === null) return "";
  if (value >= 1e308) return "inf";
  if (column === "ess") return (value >= data.most_ess ? "≥ " : "") + Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(digits[column])));
}

function values(column) {
  if (column === "atom") return everything;  // the rows come sorted by it
  if (column === "uncertain") return data.probability.map(p => p === null ? null : Math.abs(p - 0.5));
  return data[column];
}

function sort() {
  const by = values(key), sign = ascending ? 1 : -1;
  shown.sort((a, b) => {
    const x = by[a], y = by[b];
    if (x === y || (x === null && y === null)) return a - b;
    if (x === null || y === null) return x === null ? 1 : -1;  // what is undefined comes last either way
    return x < y ? -sign : sign;
  });
  for (const head of document.querySelectorAll("#rows th")) {
    const own = head.dataset.column === key;
    head.setAttribute("aria-sort", own ? (ascending ? "ascending" : "descending") : "none");
    head.querySelector("span").textContent = own ? (ascending ? " ▲" : " ▼") : "";
  }
  view.scrollTop = 0;
  draw();
}

function select() {
  const wanted = filter.value.trim().toLowerCase(), predicate = chosen.value === "" ? null : Number(chosen.value);
  shown = everything.filter(row => (predicate === null || data.predicate[row] === predicate) && lower[row].includes(wanted));
  document.getElementById("count").textContent = `${shown.length.toLocaleString("en")} of ${everything.length.toLocaleString("en")} rows`;
  sort();
}

function spacer(rows) {
  const line = document.createElement("tr"), space = document.createElement("td");
  space.colSpan = 1 + data.columns.length;
  space.style.height = `${rows * ROW}px`;
  space.style.padding = 0;
  line.append(space);
  return line;
}

function draw() {
  const first = Math.max(0, Math.floor(view.scrollTop / ROW) - MARGIN);
  const last = Math.min(shown.length, Math.ceil((view.scrollTop + view.clientHeight) / ROW) + MARGIN);
  const lines = [];
  if (first > 0) lines.push(spacer(first));
  for (let at = first; at < last; at++) {
    const row = shown[at], line = document.createElement("tr"), name = document.createElement("td");
    line.className = at % 2 ? "even row" : "row";
    name.append(Object.assign(document.createElement("code"), {textContent: data.atom[row]}));
    line.append(name);
    for (const column of data.columns)
      line.append(Object.assign(document.createElement("td"), {className: "n", textContent: cell(column, data[column][row])}));
    lines.push(line);
  }
  if (last < shown.length) lines.push(spacer(shown.length - last));
  body.replaceChildren(...lines);
}

for (const column of ["atom", ...data.columns]) {
  const head = document.createElement("th"), press = document.createElement("button");
  head.dataset.column = column;
  head.className = column === "atom" ? "" : "n";
  press.append(column === "rhat" ? "R-hat" : column === "ess" ? "ESS" : column, document.createElement("span"));
  head.append(press);
  head.addEventListener("click", () => {
    ascending = key === column ? !ascending : column === "atom";
    key = column;
    sort();
  });
  document.querySelector("#rows thead tr").append(head);
}
chosen.append(new Option("all predicates", ""));
data.predicates.forEach((name, number) => chosen.append(new Option(name, number)));
if (data.predicate.includes(-1)) chosen.append(new Option("formulas", -1));
document.getElementById("uncertain").addEventListener("click", () => { key = "uncertain"; ascending = true; sort(); });
filter.addEventListener("input", select);
chosen.addEventListener("change", select);
view.addEventListener("scroll", draw);
select();
