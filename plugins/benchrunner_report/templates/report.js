"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  // The rows where systems differ. All text is set as text, never as markup.
  const data = JSON.parse(byId("data").textContent), marks = ["●", "■", "▲", "◆", "▼", "⬢"], page = 20;
  const shapeOf = (system) => (system + Math.floor(system / data.shapes)) % data.shapes;
  const rows = data.tasks.flatMap((task) => task.rows.map((row) => {
    const means = task.systems.map((system, place) => {
      const all = row.a[place].reduce((sum, given) => sum + given[1], 0);
      return row.a[place].reduce((sum, given) => sum + given[1] * given[2], 0) / all;
    });
    const best = task.unit ? Math.max(...means) : 0.5, worst = task.unit ? Math.min(...means) : 0.5;
    const isBest = (mean) => (task.unit ? mean >= best : mean > best), isWorst = (mean) => mean <= worst;
    const right = new Set(task.systems.filter((system, place) => isBest(means[place])));
    const wrong = new Set(task.systems.filter((system, place) => isWorst(means[place])));
    const words = [...row.t, row.g, ...row.a.flat().map((given) => given[0])].join("\n").toLowerCase();
    return { task, row, right, wrong, words, size: row.t.reduce((sum, text) => sum + text.length, 0) };
  }));
  const inputs = { query: byId("query"), task: byId("task"), right: byId("right"), wrong: byId("wrong"), order: byId("order") };
  const option = (value, text) => { const made = document.createElement("option"); made.value = value; made.textContent = text; return made; };
  data.tasks.forEach((task, number) => inputs.task.append(option(number, `${task.name} (${task.rows.length})`)));
  data.systems.forEach((name, number) => { inputs.right.append(option(number, name)); inputs.wrong.append(option(number, name)); });
  const orders = {
    difference: (a, b) => b.row.d - a.row.d, row: (a, b) => a.row.n - b.row.n, short: (a, b) => a.size - b.size, long: (a, b) => b.size - a.size,
  };
  const list = byId("list"), more = byId("more"), count = byId("count");
  let chosen = [], drawn = 0;
  const node = (name, text, kind) => { const made = document.createElement(name); if (text !== undefined) made.textContent = text; if (kind) made.className = kind; return made; };
  const bidi = (name, text, kind) => { const made = node(name, text, kind); made.dir = "auto"; return made; };
  const key = (system) => {
    const made = node("span");
    made.append(node("span", marks[shapeOf(system)], `shape s${system % data.shapes}`), " ", node("bdi", data.systems[system]));
    return made;
  };
  const gradeOf = (task, grade) => (task.unit === "from gold" ? `${task.sign * grade} from gold` : `${task.unit} ${task.sign * grade}`);
  const given = (task, [answer, times, grade]) => {
    const line = node("div", undefined, task.unit ? "" : grade ? "right" : "wrong");
    if (!task.unit) line.append(grade ? "✓ " : "✗ ", node("span", grade ? "right: " : "wrong: ", "hidden"));
    line.append(node("bdi", answer), times > 1 ? ` ×${times}` : "");
    if (task.unit) line.append(" ", node("span", gradeOf(task, grade), "grade"));
    return line;
  };
  const card = ({ task, row }) => {
    const item = node("li"), article = node("article", undefined, "row"), texts = node("div", undefined, "text"), answers = node("dl");
    const title = node("h3");
    title.append(node("bdi", task.name), ` · row ${row.n.toLocaleString("en")}`);
    row.t.forEach((text, place) => { const part = node("p"); part.append(node("span", task.columns[place], "column"), bidi("span", text)); texts.append(part); });
    texts.tabIndex = -1;
    answers.append(node("dt", "gold"), bidi("dd", row.g));
    const same = new Map();  // systems with the same answers stand together
    task.systems.forEach((system, place) => {
      const text = JSON.stringify(row.a[place]);
      same.set(text, [...(same.get(text) ?? []), [system, row.a[place]]]);
    });
    for (const systems of same.values()) {
      const names = node("dt"), value = node("dd");
      names.append(...systems.map(([system]) => key(system)));
      value.append(...systems[0][1].map((one) => given(task, one)));
      answers.append(names, value);
    }
    article.append(title, texts, answers);
    item.append(article);
    return item;
  };
  const draw = () => {
    list.append(...chosen.slice(drawn, drawn + page).map(card));
    drawn = Math.min(drawn + page, chosen.length);
    more.hidden = drawn >= chosen.length;
    count.textContent = chosen.length ? `${chosen.length.toLocaleString("en")} rows, ${drawn.toLocaleString("en")} shown` : "No row matches.";
  };
  const choose = () => {
    const query = inputs.query.value.trim().toLowerCase(), { task, right, wrong, order } = inputs;
    const isAmong = (input, systems) => input.value === "" || systems.has(+input.value);
    chosen = rows.filter((entry) => (task.value === "" || entry.task === data.tasks[+task.value])
      && isAmong(right, entry.right) && isAmong(wrong, entry.wrong) && entry.words.includes(query));
    chosen.sort(orders[order.value]);
    list.replaceChildren();
    drawn = 0;
    draw();
  };
  byId("filters").hidden = rows.length === 0;
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  let waiting = 0;
  inputs.query.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(choose, 120); });
  [inputs.task, inputs.right, inputs.wrong, inputs.order].forEach((input) => input.addEventListener("change", choose));
  more.addEventListener("click", () => { const place = drawn; draw(); const next = list.children[place]; if (next) { next.tabIndex = -1; next.focus(); } });
  for (const link of document.querySelectorAll("a[data-task]")) {
    link.addEventListener("click", () => { inputs.task.value = String(data.tasks.findIndex((task) => task.name === link.dataset.task)); choose(); });
  }
  choose();
})();
