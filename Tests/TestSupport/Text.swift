/// The bytes as text; malformed UTF-8 becomes U+FFFD.
public func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }
