import { deepEqual, equal } from "node:assert/strict";
import fc from "fast-check";
import { findThumbnail } from "./exif.js";

/** The head of a JPEG whose Exif holds a small picture, as a camera writes it. */
function createPhoto(picture: readonly number[], orientation: number): Uint8Array<ArrayBuffer> {
  const tiff = new DataView(new ArrayBuffer(64 + picture.length));
  tiff.setUint16(0, 0x4949);
  tiff.setUint16(2, 42, true);
  tiff.setUint32(4, 8, true);
  tiff.setUint16(8, 1, true);
  for (
    const [at, tag, type, value] of [[10, 0x0112, 3, orientation], [28, 0x0201, 4, 64], [40, 0x0202, 4, picture.length]]
  ) {
    tiff.setUint16(at, tag, true);
    tiff.setUint16(at + 2, type, true);
    tiff.setUint32(at + 4, 1, true);
    tiff.setUint32(at + 8, value, true);
  }
  tiff.setUint32(22, 26, true);
  tiff.setUint16(26, 2, true);
  const body = new Uint8Array(tiff.buffer);
  body.set(picture, 64);
  const length = body.length + 8;
  return new Uint8Array([0xff, 0xd8, 0xff, 0xe1, length >> 8, length & 255, 0x45, 0x78, 0x69, 0x66, 0, 0, ...body]);
}

const PICTURE = [0xff, 0xd8, 1, 2, 3, 0xff, 0xd9];

Deno.test("findThumbnail finds the small picture in a photo and how it is turned", () => {
  const found = findThumbnail(createPhoto(PICTURE, 6));
  deepEqual([[...found?.bytes ?? []], found?.orientation], [PICTURE, 6]);
  equal(findThumbnail(createPhoto(PICTURE, 99))?.orientation, 1);
});

Deno.test("findThumbnail finds nothing in what is cut off or no photo, and never fails", () => {
  const photo = createPhoto(PICTURE, 1);
  for (let length = 0; length < photo.length; length++) equal(findThumbnail(photo.slice(0, length)), null);
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(photo.length - 1), (noise, at) => {
    const broken = new Uint8Array(photo);
    broken.set(noise.subarray(0, photo.length - at), at);
    findThumbnail(broken);
  }));
});
