"use strict";
(() => {
  const root = document.documentElement, theme = document.getElementById("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  if (matchMedia("(max-width: 60rem)").matches) document.querySelectorAll("nav details").forEach((part) => { part.open = false; });
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));

  // Tables: each tbody is one row with what stands below it; a tfoot stays at the end. Without this script they are plain tables.
  const NUMBER = /(-?\d[\d,]*(?:\.\d+)?)(?: ([kMGTP])(?![a-z]))?/, FACTORS = { k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    const valueOf = (body, column) => {
      const cell = body.rows[0].cells[column];
      if ("value" in cell.dataset) return cell.dataset.value === "" ? null : Number(cell.dataset.value);
      if (!cell.classList.contains("n")) return cell.textContent.trim();
      const found = NUMBER.exec(cell.textContent);
      return found === null ? null : Number(found[1].replaceAll(",", "")) * (FACTORS[found[2]] ?? 1);
    };
    const sort = (column) => {
      const head = heads[column], isNumber = head.classList.contains("n");
      const was = head.getAttribute("aria-sort"), isDown = was === "none" ? isNumber : was === "ascending";
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
      const bodies = [...table.tBodies].sort((a, b) => {
        const x = valueOf(a, column), y = valueOf(b, column);
        if (x === null || y === null) return (x === null) - (y === null);
        const order = typeof x === "string" ? x.localeCompare(y, undefined, { numeric: true }) : x - y;
        return isDown ? -order : order;
      });
      for (const body of bodies) table.insertBefore(body, table.tFoot);
    };
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(column));
      head.append(button);
      head.setAttribute("aria-sort", "none");
    });
  }
})();
