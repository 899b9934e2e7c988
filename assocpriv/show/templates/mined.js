"use strict";
// Sorts and filters the tables of this page; without it they are as they were written.
const figure = (text) => parseFloat(text.replaceAll(",", ""));
for (const table of document.querySelectorAll("table.found")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const told = document.getElementById(`${table.id}-told`);
  const box = document.getElementById(`${table.id}-filter`);
  const numbers = [...table.tHead.rows[0].cells].map((head) => head.className === "number");
  const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent.toLowerCase());
  const valueOf = (row, place) => {
    const text = row.cells[place].textContent;
    if (!numbers[place]) return text;
    const value = figure(text);
    return Number.isNaN(value) ? -1 : value; // what is not known comes last
  };
  const sort = (head, place) => {
    const down = head.getAttribute("aria-sort") !== "descending";
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const order = (one, other) => (typeof one === "number" ? one - other : one.localeCompare(other));
    rows.sort((one, other) => (down ? -1 : 1) * order(valueOf(one, place), valueOf(other, place)));
    body.append(...rows);
  };
  [...table.tHead.rows[0].cells].forEach((head, place) => {
    if ("fixed" in head.dataset) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(head, place));
    head.append(button);
  });
  // a word that a row holds, or a bound on a column of numbers: lift>2
  const matches = (row, text, word) => {
    const [, name, sign, bound] = /^(\p{L}+)([<>]=?)([\d.,]+)%?$/u.exec(word) ?? [];
    const place = heads.indexOf(name);
    if (!numbers[place]) return text.includes(word);
    const value = figure(row.cells[place].textContent);
    const most = figure(bound);
    return (sign.length > 1 && value === most) || (sign[0] === ">" ? value > most : value < most);
  };
  const filter = () => {
    const words = box.value.toLocaleLowerCase().replace(/\s*([<>]=?)\s*/g, "$1").split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLocaleLowerCase();
      row.hidden = !words.every((word) => matches(row, text, word));
      shown += row.hidden ? 0 : 1;
    }
    told.textContent = words.length ? `${shown} of ${rows.length} rows shown` : "";
  };
  box.addEventListener("input", filter);
  box.parentElement.hidden = false;
}
// An item of the graph, chosen, leaves the rules it is in.
for (const name of document.querySelectorAll("svg [unicode-bidi]")) {
  const choose = () => {
    const box = document.getElementById("rules-table-filter");
    box.value = name.textContent.replace("…", "");
    box.dispatchEvent(new Event("input"));
    box.scrollIntoView({ block: "center" });
  };
  name.closest("svg").setAttribute("role", "group"); // an image has nothing in it to choose
  name.setAttribute("role", "button");
  name.setAttribute("tabindex", "0");
  name.addEventListener("click", choose);
  name.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose();
  });
}
