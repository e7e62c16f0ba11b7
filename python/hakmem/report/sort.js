// Sorts a table by the column whose head is clicked: numbers by data-value, other cells by their text.
for (const head of document.querySelectorAll(".sortable th")) {
  head.addEventListener("click", () => {
    const table = head.closest("table");
    const body = table.tBodies[0];
    const column = head.cellIndex;
    const ascending = head.getAttribute("aria-sort") === "descending";
    const key = (row) => {
      const cell = row.cells[column];
      return cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value);
    };
    const rows = [...body.rows].sort((one, other) => {
      const [a, b] = [key(one), key(other)];
      const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
      return ascending ? order : -order;
    });
    for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    body.append(...rows);
  });
}
