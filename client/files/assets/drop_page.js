// The page of a share that only takes files: sends them one after the other and says how far each is.
// Without script the form does the same.

const form = document.getElementById("form");
const input = document.getElementById("files");
const list = document.getElementById("list");
const waiting = [];
let isSending = false;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  add(input.files);
  input.value = "";
});
addEventListener("dragover", (event) => {
  event.preventDefault();
  form.classList.add("over");
});
addEventListener("dragleave", () => form.classList.remove("over"));
addEventListener("drop", (event) => {
  event.preventDefault();
  form.classList.remove("over");
  add(event.dataTransfer.files);
});
addEventListener("beforeunload", (event) => {
  if (isSending) event.preventDefault();
});

function add(files) {
  for (const file of files) waiting.push({ file, ...createRow(file.name) });
  if (!isSending) sendAll();
}

function createRow(name) {
  const row = document.createElement("li");
  const [title, state] = [document.createElement("span"), document.createElement("span")];
  title.textContent = name;
  state.textContent = "waiting";
  row.append(title, state);
  list.prepend(row);
  return { row, state };
}

async function sendAll() {
  isSending = true;
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const problem = await send(next.file, (share) => next.state.textContent = `${Math.floor(share * 100)} %`);
    next.state.textContent = problem ?? "sent";
    next.row.classList.toggle("failed", problem !== null);
  }
  isSending = false;
}

/** Resolves with what went wrong, or null. */
function send(file, onProgress) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.upload.addEventListener("progress", ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total));
    request.addEventListener("load", () => resolve(request.status < 300 ? null : describe(request)));
    request.addEventListener("error", () => resolve("the connection was lost"));
    request.open("PUT", `/${encodeURIComponent(file.name)}`);
    request.setRequestHeader("x-portway-page", "1");
    request.setRequestHeader("x-oc-mtime", String(file.lastModified / 1000));
    request.send(file);
  });
}

function describe({ status, responseText }) {
  try {
    const { error, message } = JSON.parse(responseText);
    return error.message ?? message;
  } catch {
    return `failed (${status})`;
  }
}
