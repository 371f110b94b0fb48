
"use strict";
(() => {
  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };
  const tables = [...document.querySelectorAll(".matrix")];
  const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
  const addressOf = (cell) => cell.id || cell.dataset.at || "";
  const targetOf = (cell) => addressOf(cell).split("/").slice(0, 2).join("/");
  const cellsOf = (row) => [...row.cells].filter(addressOf);
  const hostOf = (header) => (header.querySelector("small")?.textContent ?? "").replace("… is ", "");
  const urlsOf = (cell) => cell.textContent.replaceAll("…/", `${hostOf(cell.closest("table").tHead.rows[0].cells[cell.cellIndex])}/`);

  const copy = async (command, button) => {
    getSelection().selectAllChildren(command);
    try {
      await navigator.clipboard.writeText(command.textContent);
    } catch {
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  };
  for (const command of document.querySelectorAll(".cmd")) {
    const button = make("button", { type: "button", textContent: "Copy" });
    button.setAttribute("aria-label", `Copy ${command.textContent}`);
    button.addEventListener("click", () => copy(command, button));
    const run = make("span", { className: "run" });
    command.before(run);
    run.append(command, " ", button);
  }

  const chosen = (fieldset) => [...fieldset.querySelectorAll(":checked")].map((box) => box.value);
  const boxes = (legend, choices) => make("fieldset", {}, make("legend", { textContent: legend }), ...choices.map(
    ([value, label]) => make("label", {}, make("input", { type: "checkbox", value }), ` ${label}`)));
  const kinds = boxes("Any of", [...document.querySelectorAll(".legend dt[class]")].map(
    (term) => [term.className, term.textContent]));
  const targets = boxes("On any of", [...new Set(rows.flatMap(cellsOf).map(targetOf))].sort().map((name) => [name, name]));
  const words = make("input", { type: "search", placeholder: "ONB10011 offers" });
  const told = make("p", { className: "told" });
  told.setAttribute("role", "status");

  const filter = () => {
    const kindsWanted = chosen(kinds);
    const targetsWanted = chosen(targets);
    const wordsWanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const found = cellsOf(row).some((cell) =>
        (!kindsWanted.length || kindsWanted.some((kind) => cell.classList.contains(kind))) &&
        (!targetsWanted.length || targetsWanted.includes(targetOf(cell))));
      const text = `${row.textContent} ${cellsOf(row).map((cell) => `${addressOf(cell)} ${urlsOf(cell)}`).join(" ")}`.toLowerCase();
      row.hidden = !found || (wordsWanted.length > 0 && !wordsWanted.some((word) => text.includes(word)));
      count += row.hidden ? 0 : 1;
    }
    const filters = kindsWanted.length + targetsWanted.length + wordsWanted.length;
    told.textContent = filters ? `${count} of ${rows.length} rows` : "";
    for (const details of document.querySelectorAll("main details")) {
      if (filters && details.querySelector("tbody tr:not([hidden])")) { details.open = true; }
    }
  };
  if (rows.length > 1) {
    const form = make("form", { className: "filters" }, kinds, ...(targets.children.length > 2 ? [targets] : []),
      make("label", {}, "With any of these words ", words), told);
    form.setAttribute("aria-label", "Filters");
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    tables[0].closest(".scroll").before(form);
  }

  const sort = (table, column, header) => {
    const down = header.getAttribute("aria-sort") === "ascending";
    const textOf = (row) => row.cells[column].textContent;
    const sorted = [...table.tBodies[0].rows].sort((one, other) =>
      (textOf(one) === "") - (textOf(other) === "") || (down ? -1 : 1) * textOf(one).localeCompare(textOf(other)));
    table.tBodies[0].append(...sorted);
    for (const other of table.tHead.rows[0].cells) { other.removeAttribute("aria-sort"); }
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
  };
  for (const table of tables.filter((one) => one.tBodies[0].rows.length > 1)) {
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      const name = header.firstChild;
      const button = make("button", { type: "button", textContent: name.textContent, title: "Sort" });
      button.addEventListener("click", () => sort(table, column, header));
      name.replaceWith(button);
    });
  }

  const closed = [];
  addEventListener("beforeprint", () => {
    closed.push(...document.querySelectorAll("details:not([open])"));
    closed.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => closed.splice(0).forEach((details) => { details.open = false; }));
})();
