import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { answerFile, getMediaType } from "./mod.ts";

/** Writes a file for one test and requests it. */
function openFile(name: string, content: Uint8Array | string) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "portway-file-"));
  const file = path.join(folder, "file");
  fs.writeFileSync(file, content);
  let opened = 0;
  return {
    get opened() {
      return opened;
    },
    async request(headers: HeadersInit = {}, method = "GET"): Promise<Response> {
      const fd = fs.openSync(file, "r");
      opened++;
      let isOpen = true;
      const close = () => {
        if (!isOpen) return;
        isOpen = false;
        opened--;
        fs.closeSync(fd);
      };
      return await answerFile(new Request("http://x/", { method, headers }), { fd, stat: fs.fstatSync(fd), close }, {
        name,
      });
    },
    [Symbol.dispose]: () => fs.rmSync(folder, { recursive: true }),
  };
}

Deno.test("getMediaType knows the types that a short database lacks", () => {
  const types = [
    ["favicon.ico", "image/vnd.microsoft.icon"],
    ["pointer.CUR", "image/vnd.microsoft.icon"],
    ["a.m4v", "video/x-m4v"],
    ["a.avi", "video/x-msvideo"],
    ["a.wmv", "video/x-ms-wmv"],
    ["a.flv", "video/x-flv"],
    ["a.tar.tgz", "application/gzip"],
    ["a.usdz", "model/vnd.usdz+zip"],
    ["a.importmap", "application/importmap+json"],
    ["a.mp4", "video/mp4"],
    ["a.mp3", "audio/mpeg"],
    ["a.js", "text/javascript"],
    ["a.ts", "text/typescript"],
    ["a.sh", "text/plain"],
    ["a.c", "text/plain"],
    ["README", "text/plain"],
    ["a.unknown", "application/octet-stream"],
  ];
  deepEqual(types.map(([name]) => [name, getMediaType(name)]), types);
});

Deno.test("a request for several ranges gets each of them in one response of the announced length", async () => {
  const content = Buffer.alloc(1_000_000, "0123456789");
  using file = openFile("a.bin", content);
  const response = await file.request({ range: "bytes=0-9,500000-900000,-5" });
  equal(response.status, 206);
  const boundary = /^multipart\/byteranges; boundary=(\S+)$/.exec(response.headers.get("content-type") ?? "")?.[1];
  const body = Buffer.from(await response.arrayBuffer());
  equal(response.headers.get("content-length"), String(body.length));
  equal(response.headers.get("content-range"), null);
  const parts = body.toString("latin1").split(`\r\n--${boundary}`);
  equal(parts.length, 5);
  equal(parts[4], "--\r\n");
  const heads = parts.slice(1, 4).map((part) => part.slice(0, part.indexOf("\r\n\r\n")));
  match(heads[1], /content-type: application\/octet-stream\r\ncontent-range: bytes 500000-900000\/1000000$/);
  equal(parts[2].slice(heads[1].length + 4), content.subarray(500_000, 900_001).toString("latin1"));
  equal(parts[3].slice(heads[2].length + 4), "56789");
  equal(file.opened, 0);
});

Deno.test("overlapping ranges are joined, so a response is never much longer than its file", async () => {
  using file = openFile("a.bin", Buffer.alloc(10_000));
  const joined = await file.request({ range: `bytes=${Array(32).fill("0-").join()}` });
  equal(joined.headers.get("content-range"), "bytes 0-9999/10000");
  await joined.arrayBuffer();
  const many = await file.request({
    range: `bytes=${Array.from({ length: 33 }, (_, at) => `${at * 300}-${at * 300}`)}`,
  });
  equal(many.status, 200);
  await many.arrayBuffer();
  equal(file.opened, 0);
});

Deno.test("a response with several ranges closes its file when the client disconnects at any time", async () => {
  using file = openFile("a.bin", Buffer.alloc(5_000_000));
  for (const chunks of [0, 1, 3]) {
    const response = await file.request({ range: "bytes=0-999999,2000000-4000000" });
    const reader = response.body?.getReader();
    for (let chunk = 0; chunk < chunks; chunk++) await reader?.read();
    await reader?.cancel();
    equal(file.opened, 0);
  }
});

/** Texts as other programs encode them, and their charsets. */
const TEXTS: readonly (readonly [charset: string | null, hex: string])[] = [
  ["gb18030", "d5e2cac7d2bbb8f6b2e2cad4cec4bcfea3acd3c3c0b4bcecb2e9b1e0c2ebbcecb2e2b5c4d6cac1bfa1a3"],
  [
    "shift_jis",
    "82b182ea82cd95b68e9a8352815b836882cc8ea993ae94bb95ca82f08a6d944682b782e982bd82df82cc8365835883678374834083438b82c582b7",
  ],
  [
    "koi8-r",
    "fcd4cf20d0d2cfd7c5d2cfdecec1d120c6c1cacc2c20cbcfd4cfd2d9ca20ced5d6c5ce20c4ccd120d0d2cfd7c5d2cbc920cbc1dec5d3d4d7c1",
  ],
  // Too short for a guess.
  [null, "4772f6df653a2035206db2"],
];

Deno.test("text that is not Unicode has the charset that it probably has, or none", async () => {
  for (const [charset, hex] of TEXTS) {
    using file = openFile("a.txt", Buffer.from(hex, "hex"));
    const type = (await file.request()).headers.get("content-type");
    equal(type, charset === null ? "text/plain" : `text/plain; charset=${charset}`);
    equal(file.opened, 0);
  }
});

Deno.test("a page that declares its charset is not contradicted, and Unicode is recognized", async () => {
  const page = Buffer.concat([Buffer.from('<meta charset="gbk">'), Buffer.from(TEXTS[0][1], "hex")]);
  using declared = openFile("a.html", page);
  equal((await declared.request()).headers.get("content-type"), "text/html");
  using utf8 = openFile("a.txt", "Größe");
  equal((await utf8.request()).headers.get("content-type"), "text/plain; charset=utf-8");
  using utf16 = openFile("a.txt", Buffer.from("\ufeffhello", "utf16le"));
  equal((await utf16.request()).headers.get("content-type"), "text/plain; charset=utf-16le");
  ok(utf8.opened + utf16.opened + declared.opened === 0);
});
