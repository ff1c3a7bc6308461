/// A picture without anything but its pixels, and the orientation of a JPEG: other metadata, texts, thumbnails and what follows its end are removed.
public struct AvatarImage: Sendable, Equatable {
    public enum Format: String, Sendable, CaseIterable {
        case png = "image/png"
        case jpeg = "image/jpeg"
        case webp = "image/webp"
    }

    /// Why a picture is refused.
    public enum Flaw: Error, Sendable, Equatable {
        case unknownFormat, damaged, tooManyPixels, animated

        /// A sentence for developers.
        public var text: String {
            switch self {
            case .unknownFormat: "the picture must be PNG, JPEG or WebP"
            case .damaged: "the picture is damaged"
            case .tooManyPixels:
                """
                the picture must have 1 to \(AvatarImage.maximumSide) pixels on each side, and at most \
                \(AvatarImage.maximumDecodedBytes >> 20) MiB of them
                """
            case .animated: "the picture must not be animated"
            }
        }
    }

    public static let maximumBytes = 512 * 1024
    public static let maximumSide = 2_048
    /// Bytes of the decoded pixels, by what the header declares: a small file cannot make a client allocate more. 32 bits for each pixel of the
    /// largest picture.
    static let maximumDecodedBytes = 16 * 1024 * 1024

    public let format: Format
    /// The picture as it is stored and served.
    public let bytes: [UInt8]

    /// Detects the format by the content, not by the client's header. Decodes PNG and JPEG, which takes milliseconds: not for an event loop.
    public init(_ bytes: [UInt8]) throws(Flaw) {
        if bytes.starts(with: PNGFile.signature) {
            (format, self.bytes) = (.png, try PNGFile.cleaned(bytes))
        } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            (format, self.bytes) = (.jpeg, try JPEGFile.cleaned(bytes))
        } else if bytes.starts(with: Array("RIFF".utf8)), bytes.dropFirst(8).starts(with: Array("WEBP".utf8)) {
            (format, self.bytes) = (.webp, try WebPFile.cleaned(bytes))
        } else {
            throw .unknownFormat
        }
    }

    /// For a stored picture, which was cleaned before.
    public init(stored bytes: [UInt8], format: Format) {
        self.format = format
        self.bytes = bytes
    }

    static func check(width: Int, height: Int, bitsPerPixel: Int = 32) throws(Flaw) {
        guard (1...maximumSide).contains(width), (1...maximumSide).contains(height),
            width * height * bitsPerPixel / 8 <= maximumDecodedBytes
        else { throw .tooManyPixels }
    }
}

/// Reads numbers of a file; every read is within bounds.
struct ByteCursor {
    let bytes: [UInt8]
    var offset: Int

    init(_ bytes: [UInt8], at offset: Int = 0) {
        self.bytes = bytes
        self.offset = offset
    }

    var isAtEnd: Bool { offset >= bytes.count }

    mutating func take(_ count: Int) throws(AvatarImage.Flaw) -> ArraySlice<UInt8> {
        guard count >= 0, count <= bytes.count - offset else { throw .damaged }
        defer { offset += count }
        return bytes[offset..<offset + count]
    }

    mutating func bigEndian(_ count: Int) throws(AvatarImage.Flaw) -> Int { try take(count).reduce(0) { $0 << 8 | Int($1) } }
    mutating func littleEndian(_ count: Int) throws(AvatarImage.Flaw) -> Int { try take(count).reversed().reduce(0) { $0 << 8 | Int($1) } }
}
