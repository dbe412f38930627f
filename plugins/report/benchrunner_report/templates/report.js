"use strict";
(() => {
  const root = document.documentElement, byId = (id) => document.getElementById(id);
  const theme = byId("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  if (matchMedia("(max-width: 60rem)").matches) document.querySelector("nav details").open = false;
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));

  // Tables: each tbody is one row with the published figures below it.
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === (column ? "none" : "ascending") || (column > 0 && head.getAttribute("aria-sort") === "ascending");
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (body) => {
        const cell = body.rows[0].cells[column];
        if (!("value" in cell.dataset)) return cell.textContent.trim();
        return cell.dataset.value === "" ? null : Number(cell.dataset.value);
      };
      const bodies = [...table.tBodies].sort((a, b) => {
        const x = value(a), y = value(b);
        if (x === null || y === null) return (x === null) - (y === null);
        const order = typeof x === "string" ? x.localeCompare(y, undefined, { numeric: true }) : x - y;
        return down ? -order : order;
      });
      table.append(...bodies);
    }));
  }

  // The rows where backbones differ. All text is set as text, never as markup.
  const data = JSON.parse(byId("data").textContent), shapes = ["●", "■", "▲", "◆", "▼", "⬢"], page = 20;
  const rows = data.tasks.flatMap((task) => task.rows.map((row) => {
    const right = new Map(task.backbones.map((backbone, place) => {
      const all = row.a[place].reduce((sum, given) => sum + given[1], 0);
      return [backbone, row.a[place].reduce((sum, given) => sum + given[1] * given[2], 0) / all];
    }));
    const words = [...row.t, row.g, ...row.a.flat().map((given) => given[0])].join("\n").toLowerCase();
    return { task, row, right, words, size: row.t.reduce((sum, text) => sum + text.length, 0) };
  }));
  const inputs = { query: byId("query"), task: byId("task"), right: byId("right"), wrong: byId("wrong"), order: byId("order") };
  const option = (value, text) => { const made = document.createElement("option"); made.value = value; made.textContent = text; return made; };
  data.tasks.forEach((task, number) => inputs.task.append(option(number, `${task.name} (${task.rows.length})`)));
  data.backbones.forEach((name, number) => { inputs.right.append(option(number, name)); inputs.wrong.append(option(number, name)); });
  const orders = {
    difference: (a, b) => b.row.d - a.row.d, row: (a, b) => a.row.n - b.row.n, short: (a, b) => a.size - b.size, long: (a, b) => b.size - a.size,
  };
  const list = byId("list"), more = byId("more"), count = byId("count");
  let chosen = [], drawn = 0;
  const node = (name, text, kind) => { const made = document.createElement(name); if (text !== undefined) made.textContent = text; if (kind) made.className = kind; return made; };
  const bidi = (name, text, kind) => { const made = node(name, text, kind); made.dir = "auto"; return made; };
  const card = ({ task, row }) => {
    const item = node("li"), article = node("article", undefined, "row"), texts = node("div", undefined, "text"), answers = node("dl");
    const title = node("h3");
    title.append(node("bdi", task.name), ` · row ${row.n.toLocaleString("en")}`);
    row.t.forEach((text, place) => { const part = node("p"); part.append(node("span", task.columns[place], "column"), bidi("span", text)); texts.append(part); });
    texts.tabIndex = -1;
    answers.append(node("dt", "gold"), bidi("dd", row.g));
    task.backbones.forEach((backbone, place) => {
      const name = node("dt"), value = node("dd");
      name.append(node("span", shapes[backbone % 6], `shape s${backbone % 6}`), " ", node("bdi", data.backbones[backbone]));
      row.a[place].forEach(([answer, times, right]) => {
        const line = node("div", undefined, right ? "right" : "wrong");
        line.append(right ? "✓ " : "✗ ", node("span", right ? "right: " : "wrong: ", "hidden"), node("bdi", answer), times > 1 ? ` ×${times}` : "");
        value.append(line);
      });
      answers.append(name, value);
    });
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
    const is = (entry, input, wanted) => input.value === "" || (entry.right.has(+input.value) && (entry.right.get(+input.value) > 0.5) === wanted);
    chosen = rows.filter((entry) => (task.value === "" || entry.task === data.tasks[+task.value]) && is(entry, right, true) && is(entry, wrong, false) && entry.words.includes(query));
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
