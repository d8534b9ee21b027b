// Names of sessions in addresses. A name may end with half a character, as programs cut texts: UTF-8 has no bytes for it,
// and the server reads it spelled as three.

const HALF = /(\p{Surrogate})/u;
const SPELLED = /(%ED%[AB][\dA-F]%[89AB][\dA-F])/i;

const spelled = (code) =>
  [0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)].map((byte) => `%${byte.toString(16)}`).join("");

const half = (text) => {
  const [first, second, third] = text.slice(1).split("%").map((byte) => parseInt(byte, 16));
  return String.fromCharCode(((first & 0xf) << 12) | ((second & 0x3f) << 6) | (third & 0x3f));
};

const parted = (text, by, of, others) => text.split(by).map((part, place) => (place % 2 ? of(part) : others(part))).join("");

/** A name as a part of an address. */
export const encoded = (name) => parted(name, HALF, (part) => spelled(part.charCodeAt(0)), encodeURIComponent);

/** The name in a part of an address; an error where that is none. */
export const decoded = (part) => parted(part, SPELLED, half, decodeURIComponent);
