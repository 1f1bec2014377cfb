import { describeError } from "../../common/log.ts";
import { HttpError } from "../../common/http_error.ts";

/** One kind of failure: what it is called to callers and how it is told from others. */
interface FailureKind {
  status: number;
  code: string;
  message: string;
  /** Error codes of the system and of undici. */
  codes: RegExp;
  /** What the message holds where the runtime gives no code. */
  text?: RegExp;
}

const KINDS: readonly FailureKind[] = [
  {
    status: 504,
    code: "upstream_timeout",
    message: "The target did not answer in time.",
    codes: /^(UND_ERR_\w*TIMEOUT|ETIMEDOUT)$/,
  },
  {
    status: 502,
    code: "upstream_refused",
    message: "The target refuses connections.",
    codes: /^ECONNREFUSED$/,
  },
  {
    status: 502,
    code: "upstream_not_http",
    message: "The target did not answer with HTTP.",
    codes: /^HPE_|^HTTPParserError$|^UND_ERR_(RES_CONTENT_LENGTH_MISMATCH|HEADERS_OVERFLOW)$/,
  },
  {
    status: 502,
    code: "upstream_tls",
    message: "No secure connection to the target could be made.",
    codes: /CERT|^ERR_(TLS|SSL)|SELF_SIGNED|^EPROTO$/,
    text: /certificate|tls|ssl/i,
  },
  {
    status: 502,
    code: "upstream_unreachable",
    message: "The target cannot be reached from here.",
    codes: /^E(HOST|NET)(UNREACH|DOWN)$|^EADDRNOTAVAIL$/,
  },
  {
    status: 502,
    code: "upstream_reset",
    message: "The target broke the connection off before its answer was complete.",
    codes: /^(UND_ERR_SOCKET|ECONNRESET|EPIPE|ECONNABORTED)$/,
  },
  {
    status: 503,
    code: "too_many_targets",
    message: "This proxy talks to too many targets at the moment.",
    codes: /^UND_ERR_MAX_ORIGINS_REACHED$/,
  },
  {
    status: 400,
    code: "description_invalid",
    message: "The described request cannot be put into HTTP.",
    codes: /^UND_ERR_(INVALID_ARG|NOT_SUPPORTED|REQ_CONTENT_LENGTH_MISMATCH)$/,
  },
];

/** The answer for whatever ended a request to a target early. Errors that are answers already stay as they are. */
export function toUpstreamError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  const code = readCode(error);
  const text = describeError(error);
  const kind = KINDS.find((one) => one.codes.test(code) || one.text?.test(text));
  if (kind) return new HttpError(kind.status, kind.code, kind.message, { cause: error });
  return new HttpError(502, "upstream_failed", "The request to the target failed.", { cause: error });
}

/** The code of an error, or its name where it has none, as some of undici's parser have. */
function readCode(error: unknown): string {
  if (!(error instanceof Error)) return "";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

/** 504 for a limit of time that a caller or this server has set. */
export function upstreamTimeout(limitMs: number): HttpError {
  return new HttpError(504, "upstream_timeout", `The target did not answer within ${limitMs} ms.`);
}
