// @ts-check
// The small picture that cameras put into the head of a JPEG (Exif 2.3, sections 4.5 and 4.6.3).

const START_OF_IMAGE = 0xffd8;
const APP1 = 0xe1;
const START_OF_SCAN = 0xda;
const EXIF = 0x45786966;
const ORIENTATION = 0x0112;
const THUMBNAIL_OFFSET = 0x0201;
const THUMBNAIL_LENGTH = 0x0202;

/**
 * The small JPEG in the beginning of a large one, and how it is to be turned (1 to 8); null when there is none. Bytes
 * that are no Exif, or are cut off, are none.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @returns {{ bytes: Uint8Array<ArrayBuffer>, orientation: number } | null}
 */
export function findThumbnail(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const start = findTiff(view);
    return start === null ? null : readTiff(view, start, bytes);
  } catch (error) {
    // An offset that leads out of what is there.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/**
 * Where the TIFF structure of the Exif segment begins.
 * @param {DataView} view
 */
function findTiff(view) {
  if (view.getUint16(0) !== START_OF_IMAGE) return null;
  for (let at = 2; at + 4 <= view.byteLength;) {
    const marker = view.getUint8(at + 1);
    if (view.getUint8(at) !== 0xff || marker === START_OF_SCAN) return null;
    if (marker === APP1 && view.getUint32(at + 4) === EXIF) return at + 10;
    at += 2 + view.getUint16(at + 2);
  }
  return null;
}

/**
 * @param {DataView} view
 * @param {number} start
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
function readTiff(view, start, bytes) {
  const isLittle = view.getUint16(start) === 0x4949;
  const first = readDirectory(view, start, view.getUint32(start + 4, isLittle), isLittle);
  if (first.next === 0) return null;
  const { fields } = readDirectory(view, start, first.next, isLittle);
  const [offset, length] = [fields.get(THUMBNAIL_OFFSET), fields.get(THUMBNAIL_LENGTH)];
  if (offset === undefined || length === undefined || start + offset + length > bytes.length) return null;
  if (view.getUint16(start + offset) !== START_OF_IMAGE) return null;
  const orientation = first.fields.get(ORIENTATION) ?? 1;
  return {
    bytes: bytes.slice(start + offset, start + offset + length),
    orientation: orientation >= 1 && orientation <= 8 ? orientation : 1,
  };
}

/**
 * The fields of a directory that are one number, and where the next directory is, 0 for none.
 * @param {DataView} view
 * @param {number} start
 * @param {number} offset
 * @param {boolean} isLittle
 */
function readDirectory(view, start, offset, isLittle) {
  const at = start + offset;
  const count = view.getUint16(at, isLittle);
  /** @type {Map<number, number>} */
  const fields = new Map();
  for (let index = 0; index < count; index++) {
    const field = at + 2 + 12 * index;
    const isShort = view.getUint16(field + 2, isLittle) === 3;
    const value = isShort ? view.getUint16(field + 8, isLittle) : view.getUint32(field + 8, isLittle);
    fields.set(view.getUint16(field, isLittle), value);
  }
  return { fields, next: view.getUint32(at + 2 + 12 * count, isLittle) };
}
