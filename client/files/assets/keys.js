// What the keys do on the page.

/** Listens to keys. `page` are the parts and actions of the page. */
export function installKeys(page) {
  const { state, list, frame, share } = page;

  const move = (event, index) => {
    const target = Math.max(0, Math.min(index, state.shown.length - 1));
    if (event.shiftKey) state.selectRange(target);
    else state.setCurrent(target);
    list.reveal(target);
  };
  const current = () => state.shown[state.current];
  const chosen = () => state.getSelected()[0] ?? current();
  const moves = {
    ArrowDown: (event) => move(event, state.current + 1),
    ArrowUp: (event) => move(event, state.current < 0 ? 0 : state.current - 1),
    PageDown: (event) => move(event, state.current + list.getPageSize()),
    PageUp: (event) => move(event, state.current - list.getPageSize()),
    Home: (event) => move(event, 0),
    End: (event) => move(event, state.shown.length - 1),
    Enter: () => current() && page.open(current()),
    " ": () => state.current >= 0 && state.toggle(state.current),
    Backspace: () => page.goUp(),
    Escape: () => state.clearSelection(),
    "/": () => frame.field.focus(),
    "?": () => page.showHelp(),
  };
  const changes = {
    F2: () => chosen() && page.rename(chosen()),
    Delete: () => {
      if (state.selected.size === 0 && state.current >= 0) state.select(state.current);
      page.removeSelected();
    },
    n: () => page.newFolder(),
    u: () => page.pickFiles(),
  };

  addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]") !== null) return;
    if (event.target === frame.field) {
      onFieldKey(event);
      return;
    }
    if (event.target.closest("input, textarea, select")) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "a") {
      event.preventDefault();
      state.selectAll();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // A button that has the focus is pressed with these.
    if (["Enter", " "].includes(event.key) && event.target.closest("button, a")) return;
    const action = moves[event.key] ?? (share.writable ? changes[event.key] : undefined);
    if (action === undefined) return;
    event.preventDefault();
    action(event);
  });

  function onFieldKey(event) {
    if (event.key === "ArrowDown") {
      event.preventDefault();
      list.focus();
      if (state.current < 0) state.setCurrent(0);
    } else if (event.key === "Escape") {
      frame.field.value = "";
      frame.field.dispatchEvent(new Event("input"));
      list.focus();
    }
  }
}
