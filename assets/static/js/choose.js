// The days of a list stand in place of its period: days that are chosen make the period "the days chosen", and another period
// takes them away. Choosing "the days chosen" leads to them. Without scripts the server does so, by what the form sends.
(() => {
  "use strict";

  document.addEventListener("change", (event) => {
    const form = event.target instanceof Element ? event.target.closest("form.sentence") : null;
    const period = form?.elements.namedItem("period");
    const days = form ? ["from", "to"].map((name) => form.elements.namedItem(name)).filter(Boolean) : [];
    if (!(period instanceof HTMLSelectElement) || days.length === 0) {
      return;
    }
    if (days.includes(event.target)) {
      period.value = days.some((day) => day.value !== "") ? "range" : period.dataset.otherwise;
    } else if (event.target === period && period.value === "range") {
      form.querySelector("details.more").open = true;
      days[0].focus();
      event.stopImmediatePropagation(); // there is nothing to ask for before a day is chosen
    } else if (event.target === period) {
      days.forEach((day) => { day.value = ""; });
    }
    const shown = form.elements.namedItem("shown");
    if (shown) {
      shown.value = period.value;
    }
  }, true);
})();
