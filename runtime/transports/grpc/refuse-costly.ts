import { isUtf8 } from "node:buffer";
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import { Problem } from "@signalbox/schema/problem";
import { messageOf } from "../../platform/error-text.ts";
import { maxValues } from "../../platform/json.ts";
import { refuseCostly, tooManyValues } from "../http/request.ts";
import { refuseUnknownNames } from "./refuse-unknown-names.ts";

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Limits of a call. */
interface Request {
  readonly headers: Headers;
  readonly type: DescMessage;
  /** Maximum size of one message, in bytes. */
  readonly maxBytes: number;
}

/** Size of the flags and the length before each message of gRPC and of streams. */
const frameBytes = 5;

/**
 * Returns the body of a call in one piece. Refuses a message, even a compressed one, that would take long to parse or validate.
 * Throws a `Problem`, or a `ConnectError` if it is too large, malformed, or more than one message.
 */
export async function* refuseCostlyCall(body: AsyncIterable<Uint8Array>, request: Request): AsyncGenerator<Uint8Array> {
  const { headers, type, maxBytes } = request;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > maxBytes + frameBytes)
      throw new ConnectError(`The message is larger than ${maxBytes} bytes.`, Code.ResourceExhausted);
  }
  const bytes = Buffer.concat(chunks, size);
  const isJson = /json/i.test(String(headers["content-type"]));
  const message = messageIn(bytes, headers);
  if (message) {
    const plain = await decompress(message, maxBytes);
    if (isJson) {
      refuseCostly(plain);
      refuseUnknownNames(type, plain);
    } else refuseCostlyBinary(type, plain);
  }
  yield bytes;
}

interface Sent {
  readonly bytes: Uint8Array;
  /** Name of its compression; absent if it is not compressed. */
  readonly encoding?: string | undefined;
}

/** The message in a body; `null` if it is incomplete, which the adapter refuses. No method accepts more than one. */
function messageIn(body: Uint8Array, headers: Headers): Sent | null {
  const headerNamed = (name: string) => (headers[name] === undefined ? undefined : String(headers[name]));
  if (!/^application\/(grpc|connect)/i.test(headerNamed("content-type") ?? ""))
    return { bytes: body, encoding: headerNamed("content-encoding") };
  const encoding = headerNamed("grpc-encoding") ?? headerNamed("connect-content-encoding");
  if (body.byteLength < frameBytes) return null;
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const isCompressed = (view.getUint8(0) & 1) === 1;
  const end = frameBytes + view.getUint32(1);
  // gRPC defines this status for the case.
  if (body.byteLength > end)
    throw new ConnectError("The body has more than one message. Send one message in each call.", Code.Unimplemented);
  if (body.byteLength < end) return null;
  return { bytes: body.subarray(frameBytes, end), ...(isCompressed && { encoding }) };
}

const compressions = [compressionGzip, compressionBrotli];

/** The adapter refuses an unknown compression. */
function decompress({ bytes, encoding }: Sent, maxBytes: number): Uint8Array | Promise<Uint8Array> {
  const known = compressions.find(({ name }) => name === encoding);
  return known && bytes.byteLength > 0 ? known.decompress(bytes, maxBytes) : bytes;
}

/** The parser fails for deeper nesting. */
const maxLevels = 100;

/** The same limit for a message in protobuf's binary format. Throws a `ConnectError` if it is malformed. */
function refuseCostlyBinary(type: DescMessage, bytes: Uint8Array): void {
  try {
    measure(new BinaryReader(bytes), shapeOf(type), { bytes, end: bytes.byteLength, level: 1, values: { count: 0 } });
  } catch (error) {
    if (error instanceof Problem) throw error;
    const fault = messageOf(error);
    throw new ConnectError(`The message is not a valid ${type.typeName}: ${fault}`, Code.InvalidArgument);
  }
}

/** The type of the field with a number. */
type Shape = (number: number) => Content | undefined;
interface Content {
  /** Packed numbers of a list can also be of the type `LengthDelimited`. */
  readonly wireType: WireType;
  /** Numbers in a list are packed, with at least one byte each. */
  readonly isPacked?: boolean;
  readonly isText?: boolean;
  /** For messages: the types of their fields. */
  readonly inner?: () => Shape;
  /** An entry of a map: for the parser no level of its own. */
  readonly isEntry?: boolean;
}

const shapeOf =
  ({ fields }: DescMessage): Shape =>
  (number) => {
    const field = fields.find((one) => one.number === number);
    return field && contentOf(field);
  };

function contentOf(field: DescField): Content {
  const { fieldKind, message } = field;
  const inner = message && (() => shapeOf(message));
  if (field.fieldKind === "map") {
    const value = inner ? { wireType: WireType.LengthDelimited, inner } : plain(field.scalar);
    const entry: Record<number, Content> = { 1: plain(field.mapKey), 2: value };
    return { wireType: WireType.LengthDelimited, isEntry: true, inner: () => (number) => entry[number] };
  }
  if (inner) return { wireType: WireType.LengthDelimited, inner };
  const content = plain(field.scalar);
  return { ...content, isPacked: fieldKind === "list" && content.wireType !== WireType.LengthDelimited };
}

const wireTypes: Readonly<Partial<Record<ScalarType, WireType>>> = {
  [ScalarType.STRING]: WireType.LengthDelimited,
  [ScalarType.BYTES]: WireType.LengthDelimited,
  [ScalarType.DOUBLE]: WireType.Bit64,
  [ScalarType.FIXED64]: WireType.Bit64,
  [ScalarType.SFIXED64]: WireType.Bit64,
  [ScalarType.FLOAT]: WireType.Bit32,
  [ScalarType.FIXED32]: WireType.Bit32,
  [ScalarType.SFIXED32]: WireType.Bit32,
};

/** Of a number, a text or bytes; no `scalar`: of an enum. */
const plain = (scalar: ScalarType | undefined): Content => ({
  wireType: (scalar && wireTypes[scalar]) ?? WireType.Varint,
  isText: scalar === ScalarType.STRING,
});

interface Part {
  /** Counted over the whole message. */
  readonly bytes: Uint8Array;
  readonly end: number;
  readonly level: number;
  /** Counted over the whole message. */
  readonly values: { count: number };
}

function measure(reader: BinaryReader, shape: Shape, { bytes, end, level, values }: Part): void {
  const count = (more: number) => {
    values.count += more;
    if (values.count > maxValues) throw tooManyValues;
  };
  while (reader.pos < end) {
    count(1);
    const [number, wireType] = reader.tag();
    // Groups could contain any number of values. No message of this service has one.
    if (wireType === WireType.StartGroup) throw tooManyValues;
    const content = shape(number);
    // The parser would read it with the type of the field, and find other fields than are counted here.
    if (content && wireType !== content.wireType && !(content.isPacked && wireType === WireType.LengthDelimited))
      throw new RangeError(`field ${number} has another type`);
    if (wireType !== WireType.LengthDelimited) {
      reader.skip(wireType, number);
      continue;
    }
    const length = reader.uint32();
    const part = { bytes, end: reader.pos + length, level: content?.isEntry ? level : level + 1, values };
    if (part.end > end) throw new RangeError("a field ends after the message that contains it");
    if (content?.isText && !isUtf8(bytes.subarray(reader.pos, part.end))) throw new RangeError("a text is not UTF-8");
    if (content?.isPacked) count(length);
    if (content?.inner) {
      if (part.level > maxLevels) throw new RangeError(`it is nested more than ${maxLevels} levels deep`);
      measure(reader, content.inner(), part);
    }
    reader.pos = part.end;
  }
}
