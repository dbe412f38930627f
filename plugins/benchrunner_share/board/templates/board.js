"use strict";
(() => {
  // Filters of the table of all systems; without this script the table is whole.
  const form = document.getElementById("filters");
  if (!form) return;
  const table = document.querySelector("#ranked table"), bodies = [...table.tBodies];
  const query = document.getElementById("query"), best = document.getElementById("best"), count = document.getElementById("count");
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (!bodies.some((body) => body.rows[0].cells[column].classList.contains("best"))) return;
    const made = document.createElement("option");
    made.value = column;
    made.textContent = (head.querySelector("bdi") ?? head).textContent;
    best.append(made);
  });
  const choose = () => {
    const words = query.value.trim().toLowerCase();
    let shown = 0;
    for (const body of bodies) {
      const cells = body.rows[0].cells;
      const fits = cells[0].textContent.toLowerCase().includes(words);
      body.hidden = !(fits && (best.value === "" || cells[+best.value].classList.contains("best")));
      shown += body.hidden ? 0 : 1;
    }
    count.textContent = shown === bodies.length ? "" : `${shown} of ${bodies.length} systems`;
  };
  form.hidden = bodies.length < 2;
  form.addEventListener("submit", (event) => event.preventDefault());
  query.addEventListener("input", choose);
  best.addEventListener("change", choose);
})();
