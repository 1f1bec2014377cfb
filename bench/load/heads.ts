/** Header fields from a visitor, as pairs. */
export type Head = readonly (readonly [name: string, value: string])[];

/** The minimum that HTTP requires. */
export const PLAIN: Head = [];

/** The 13 fields in a browser's page load, in addition to Host. */
export const BROWSER: Head = [
  ["Cache-Control", "max-age=0"],
  ["sec-ch-ua", '"Chromium";v="140", "Not=A?Brand";v="24", "Google Chrome";v="140"'],
  ["sec-ch-ua-mobile", "?0"],
  ["sec-ch-ua-platform", '"Linux"'],
  ["Upgrade-Insecure-Requests", "1"],
  [
    "User-Agent",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
  ],
  [
    "Accept",
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8",
  ],
  ["Sec-Fetch-Site", "none"],
  ["Sec-Fetch-Mode", "navigate"],
  ["Sec-Fetch-Dest", "document"],
  ["Accept-Encoding", "gzip, deflate, br, zstd"],
  ["Accept-Language", "en-US,en;q=0.9"],
  ["Cookie", "session=0123456789abcdef0123456789abcdef; theme=dark"],
];

/** The fields that a reverse proxy such as nginx or Caddy adds for a visitor. */
export const FORWARDED: Head = [
  ["X-Forwarded-For", "203.0.113.77"],
  ["X-Forwarded-Proto", "https"],
  ["X-Forwarded-Host", "k3vq.try.example.com"],
];
