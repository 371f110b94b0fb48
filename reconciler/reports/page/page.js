"use strict";
(() => {
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
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", () => copy(command, button));
    command.after(button);
  }
  const closed = [];
  addEventListener("beforeprint", () => {
    closed.push(...document.querySelectorAll("details:not([open])"));
    closed.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => closed.splice(0).forEach((details) => { details.open = false; }));
})();
