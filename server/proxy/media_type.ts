import { extname } from "node:path";

// deno-fmt-ignore
const TYPES: Readonly<Record<string, string | undefined>> = {
  ".avif": "image/avif", ".bmp": "image/bmp", ".css": "text/css; charset=utf-8", ".csv": "text/csv; charset=utf-8",
  ".gif": "image/gif", ".gz": "application/gzip", ".html": "text/html; charset=utf-8", ".htm": "text/html; charset=utf-8",
  ".ico": "image/x-icon", ".jpeg": "image/jpeg", ".jpg": "image/jpeg", ".js": "text/javascript; charset=utf-8",
  ".json": "application/json", ".map": "application/json", ".md": "text/markdown; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8", ".mp3": "audio/mpeg", ".mp4": "video/mp4", ".ogg": "audio/ogg",
  ".otf": "font/otf", ".pdf": "application/pdf", ".png": "image/png", ".svg": "image/svg+xml", ".tar": "application/x-tar",
  ".ts": "text/plain; charset=utf-8", ".ttf": "font/ttf", ".txt": "text/plain; charset=utf-8", ".wasm": "application/wasm",
  ".wav": "audio/wav", ".webm": "video/webm", ".webp": "image/webp", ".woff": "font/woff", ".woff2": "font/woff2",
  ".xml": "application/xml", ".yaml": "application/yaml", ".yml": "application/yaml", ".zip": "application/zip",
};

/** The media type of a file, by its name. */
export function mediaType(path: string): string {
  return TYPES[extname(path).toLowerCase()] ?? "application/octet-stream";
}
