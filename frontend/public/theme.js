// Runs before the first paint so that a dark page never flashes white. lib/theme.ts takes over from here.
(() => {
  var wanted = null;
  try {
    wanted = localStorage.getItem("contrail.theme");
  } catch (_) {
    // Storage can be forbidden; the system's choice is a fine default.
  }
  var dark = wanted === "dark" || (wanted !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
