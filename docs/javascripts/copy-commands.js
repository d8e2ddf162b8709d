// The copy button of a console block takes the commands, without prompts and without what they print.
document.addEventListener("click", event => {
  const button = event.target.closest?.("button.md-clipboard, button[data-clipboard-target]");
  const block = button?.closest(".language-console");
  if (!block) return;
  const lines = block.querySelector("code").textContent.split("\n").filter(line => line.startsWith("$ "));
  button.setAttribute("data-clipboard-text", lines.map(line => line.slice(2)).join("\n"));
}, true);
