import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";

const HEADER_BYTES = 32;
const LC_SEGMENT_64 = 0x19, LC_CODE_SIGNATURE = 0x1d;
/** The file is a program, not a library. */
const MAIN_BINARY = 1n;
/** Signed without a certificate, so that the system checks the pages and no identity. */
const ADHOC = 2;
/** Hashes cover 4 KiB pages on both processors; segments are aligned to 16 KiB pages. */
const HASH_PAGE = 4096, SEGMENT_PAGE = 16_384;
const SUPER_BLOB = 0xfade0cc0, CODE_DIRECTORY = 0xfade0c02;
const SUPER_BLOB_BYTES = 20, DIRECTORY_BYTES = 88, HASH_BYTES = 32;

interface LoadCommand {
  readonly type: number;
  readonly bytes: Buffer;
}

/**
 * Returns a macOS program with an ad-hoc signature, as `codesign --sign -` makes it: Apple silicon refuses unsigned code.
 * @param identifier the name in the signature
 * @throws Error for another format, an existing signature, and no room for the load command
 */
export function signMachO(file: Buffer, identifier: string): Buffer {
  if (file.readUInt32LE(0) !== 0xfeedfacf) throw new Error("not a 64-bit Mach-O file");
  const commands = readCommands(file);
  if (commands.some(({ type }) => type === LC_CODE_SIGNATURE)) throw new Error("the file has a signature");
  const codeEnd = Math.ceil(file.length / 16) * 16;
  const ident = Buffer.from(`${identifier}\0`), pages = Math.ceil(codeEnd / HASH_PAGE);
  const length = SUPER_BLOB_BYTES + DIRECTORY_BYTES + ident.length + pages * HASH_BYTES;
  const signed = Buffer.alloc(codeEnd + Math.ceil(length / 16) * 16);
  file.copy(signed);
  addCommand(signed, commands, codeEnd, signed.length - codeEnd);
  const text = findSegment(commands, "__TEXT");
  const head = writeDirectory(ident, pages, codeEnd, text.readBigUInt64LE(48));
  head.copy(signed, codeEnd);
  for (let page = 0; page < pages; page++) {
    const end = Math.min((page + 1) * HASH_PAGE, codeEnd);
    const hash = createHash("sha256").update(signed.subarray(page * HASH_PAGE, end)).digest();
    hash.copy(signed, codeEnd + head.length + page * HASH_BYTES);
  }
  return signed;
}

function readCommands(file: Buffer): LoadCommand[] {
  const commands: LoadCommand[] = [];
  for (let at = HEADER_BYTES, left = file.readUInt32LE(16); left > 0; left--) {
    const size = file.readUInt32LE(at + 4);
    commands.push({ type: file.readUInt32LE(at), bytes: file.subarray(at, at + size) });
    at += size;
  }
  return commands;
}

function findSegment(commands: readonly LoadCommand[], name: string): Buffer {
  const found = commands.find(({ type, bytes }) => {
    return type === LC_SEGMENT_64 && bytes.toString("latin1", 8, 24).replace(/\0+$/, "") === name;
  });
  if (found === undefined) throw new Error(`the file has no segment ${name}`);
  return found.bytes;
}

/** Adds the load command that points at the signature, and extends the last segment over it. */
function addCommand(signed: Buffer, commands: readonly LoadCommand[], offset: number, size: number): void {
  const end = HEADER_BYTES + signed.readUInt32LE(20);
  if (signed.subarray(end, end + 16).some((byte) => byte !== 0)) throw new Error("no room for a load command");
  for (const [index, value] of [LC_CODE_SIGNATURE, 16, offset, size].entries()) {
    signed.writeUInt32LE(value, end + index * 4);
  }
  signed.writeUInt32LE(commands.length + 1, 16);
  signed.writeUInt32LE(end - HEADER_BYTES + 16, 20);
  const original = findSegment(commands, "__LINKEDIT");
  const linkEdit = signed.subarray(original.byteOffset - commands[0].bytes.byteOffset + HEADER_BYTES);
  const fileSize = offset + size - Number(linkEdit.readBigUInt64LE(40));
  linkEdit.writeBigUInt64LE(BigInt(Math.ceil(fileSize / SEGMENT_PAGE) * SEGMENT_PAGE), 32);
  linkEdit.writeBigUInt64LE(BigInt(fileSize), 48);
}

/** Returns the signature up to its hashes. Its numbers are big-endian. */
function writeDirectory(ident: Buffer, pages: number, codeEnd: number, textSize: bigint): Buffer {
  const hashOffset = DIRECTORY_BYTES + ident.length, length = hashOffset + pages * HASH_BYTES;
  const blob = Buffer.alloc(SUPER_BLOB_BYTES + hashOffset), directory = blob.subarray(SUPER_BLOB_BYTES);
  const words = [SUPER_BLOB, SUPER_BLOB_BYTES + length, 1, 0, SUPER_BLOB_BYTES];
  words.forEach((word, index) => blob.writeUInt32BE(word, index * 4));
  // Version 2.4, flags, then offsets and counts: hashes, identifier, no special slots, pages, code length.
  const fields = [CODE_DIRECTORY, length, 0x20400, ADHOC, hashOffset, DIRECTORY_BYTES, 0, pages, codeEnd];
  fields.forEach((field, index) => directory.writeUInt32BE(field, index * 4));
  // Hash size, hash type (SHA-256), platform, and the page size as a power.
  Buffer.from([HASH_BYTES, 2, 0, Math.log2(HASH_PAGE)]).copy(directory, 36);
  directory.writeBigUInt64BE(textSize, 72);
  directory.writeBigUInt64BE(MAIN_BINARY, 80);
  ident.copy(directory, DIRECTORY_BYTES);
  return blob;
}
