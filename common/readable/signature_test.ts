import { equal } from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { createScheme, guessSender, SENDERS, type SignedRequest, verifySignature } from "./signature.js";

const body = new TextEncoder().encode('{"zen":"é"}');
const TIME = "1700000000", SECRET = "s3cret", URL_CALLED = "https://example.com/req/0123/sms?a=1";
const sign = (before: string, encoding: "hex" | "base64" = "hex", hash = "sha256") =>
  createHmac(hash, SECRET).update(before).update(body).digest(encoding);
const KEY = "c2VjcmV0LW9mLXN0YW5kYXJk";
const standard = createHmac("sha256", atob(KEY)).update(`msg_1.${TIME}.`).update(body).digest("base64");
const svixLike = (names: string): [string, string][] => [
  [`${names}Id`, "msg_1"],
  [`${names}Timestamp`, TIME],
  [`${names}Signature`, `v1,AAAA v1a,x v1,${standard}`],
];

const SIGNED: Record<string, { secret?: string; headers: [string, string][] }> = {
  "GitHub": { headers: [["X-Hub-Signature-256", `sha256=${sign("")}`]] },
  "Stripe": { headers: [["Stripe-Signature", `t=${TIME},v1=${"0".repeat(64)},v1=${sign(`${TIME}.`)},v0=x`]] },
  "Slack": { headers: [["X-Slack-Request-Timestamp", TIME], ["X-Slack-Signature", `v0=${sign(`v0:${TIME}:`)}`]] },
  "Standard Webhooks": { secret: `whsec_${KEY}`, headers: svixLike("Webhook-") },
  "Svix": { secret: `whsec_${KEY}`, headers: svixLike("Svix-") },
  "Shopify": { headers: [["X-Shopify-Hmac-Sha256", sign("", "base64")]] },
};

Deno.test("verifySignature tells valid signatures of each sender from wrong ones, and trims pasted secrets", async () => {
  for (const [sender, { secret = SECRET, headers }] of Object.entries(SIGNED)) {
    const request: SignedRequest = { headers, url: URL_CALLED, body }, scheme = SENDERS[sender];
    equal(guessSender(request), sender);
    equal(await verifySignature(scheme, secret, request), "valid", sender);
    equal(await verifySignature(scheme, ` \t${secret}\n`, request), "valid", sender);
    equal(await verifySignature(scheme, "other", request), "invalid", sender);
    equal(await verifySignature(scheme, "", request), "invalid", sender);
    equal(await verifySignature(scheme, secret, { ...request, body: new Uint8Array(2) }), "invalid", sender);
    equal(await verifySignature(scheme, secret, { ...request, headers: [] }), "unsigned", sender);
  }
  equal(guessSender({ headers: [["Host", "example.com"]] }), null);
});

Deno.test("verifySignature checks Twilio's signature over the URL and the sorted form, or over the hash of another body", async () => {
  const twilio = (text: string) => createHmac("sha1", SECRET).update(text).digest("base64");
  const form = new TextEncoder().encode("To=%2B1&Body=a+b&From=%2B2&Body=a+b");
  const headers = (signature: string): [string, string][] => [
    ["Content-Type", "application/x-www-form-urlencoded; charset=UTF-8"],
    ["X-Twilio-Signature", signature],
  ];
  const request = { headers: headers(twilio(`${URL_CALLED}Bodya bFrom+2To+1`)), url: URL_CALLED, body: form };
  equal(await verifySignature(SENDERS.Twilio, SECRET, request), "valid");
  equal(await verifySignature(SENDERS.Twilio, SECRET, { ...request, url: `${URL_CALLED}&b` }), "invalid");
  const url = `${URL_CALLED}&bodySHA256=${createHash("sha256").update(body).digest("hex")}`;
  const hashed = { headers: headers(twilio(url)), url, body };
  equal(await verifySignature(SENDERS.Twilio, SECRET, hashed), "valid");
  equal(await verifySignature(SENDERS.Twilio, SECRET, { ...hashed, body: form }), "invalid");
});

Deno.test("createScheme checks any field, hash and encoding, with a prefix or without", async () => {
  for (const hash of ["sha1", "sha256", "SHA-384", "sha512"]) {
    for (const encoding of ["hex", "base64"] as const) {
      const signature = sign("", encoding, hash.toLowerCase().replace("-", "")),
        scheme = createScheme("X-Sig ", hash, encoding);
      for (const value of [signature, `sha256=${signature}`]) {
        const request: SignedRequest = { headers: [["x-sig", value]], url: "", body };
        equal(scheme && await verifySignature(scheme, SECRET, request), "valid", `${hash} ${encoding}`);
      }
    }
  }
  for (const [field, hash, encoding] of [["", "sha256", "hex"], ["a", "md5", "hex"], ["a", "sha256", "utf8"]]) {
    equal(createScheme(field, hash, encoding), null);
  }
});
