/// Writes a ZIP archive (PKWARE APPNOTE 6.3) piece by piece, without knowing the sizes before: stored, not compressed, with data descriptors.
///
/// Each call returns the bytes to send next. Memory is that of the central directory, about 100 bytes an entry.
public struct ZIPStream: Sendable {
    /// An entry ends before its sizes need 64 bits; the caller begins another one.
    public static let maximumEntryBytes = 1 << 30

    private struct Entry {
        var name: [UInt8]
        var offset: UInt64
        var checksum = CRC32()
        var size: UInt32 = 0
    }

    private var entries: [Entry] = []
    private var offset: UInt64 = 0

    public init() {}

    /// Bytes of the current entry so far.
    public var entryBytes: Int { entries.last.map { Int($0.size) } ?? 0 }

    /// Begins an entry. The one before must have ended.
    public mutating func begin(_ name: String) -> [UInt8] {
        let entry = Entry(name: Array(name.utf8), offset: offset)
        entries.append(entry)
        var header: [UInt8] = []
        header.appendLittleEndian(UInt32(0x0403_4B50))
        Self.appendCommon(entry, sizes: false, to: &header)
        header += entry.name
        return sent(header)
    }

    /// Appends content to the current entry.
    public mutating func write(_ content: [UInt8]) -> [UInt8] {
        entries[entries.count - 1].checksum.update(content)
        entries[entries.count - 1].size += UInt32(content.count)
        return sent(content)
    }

    /// Ends the current entry.
    public mutating func end() -> [UInt8] {
        let entry = entries[entries.count - 1]
        var descriptor: [UInt8] = []
        descriptor.appendLittleEndian(UInt32(0x0807_4B50))
        Self.appendSizes(entry, to: &descriptor)
        return sent(descriptor)
    }

    /// The central directory, which ends the archive.
    public mutating func finish() -> [UInt8] {
        let start = offset
        var directory: [UInt8] = []
        for entry in entries { Self.appendDirectoryEntry(entry, to: &directory) }
        let size = UInt64(directory.count)
        if start + size > UInt64(UInt32.max) || entries.count >= Int(UInt16.max) { appendLargeEnd(start, size, to: &directory) }
        directory.appendLittleEndian(UInt32(0x0605_4B50))
        directory.appendLittleEndian(UInt32(0))
        for _ in 0..<2 { directory.appendLittleEndian(UInt16(clamping: entries.count)) }
        directory.appendLittleEndian(UInt32(clamping: size))
        directory.appendLittleEndian(UInt32(clamping: start))
        directory.appendLittleEndian(UInt16(0))
        return sent(directory)
    }

    private mutating func sent(_ bytes: [UInt8]) -> [UInt8] {
        offset += UInt64(bytes.count)
        return bytes
    }

    private static func appendDirectoryEntry(_ entry: Entry, to directory: inout [UInt8]) {
        let isFar = entry.offset >= UInt64(UInt32.max)
        directory.appendLittleEndian(UInt32(0x0201_4B50))
        directory.appendLittleEndian(version)
        appendCommon(entry, sizes: true, extraLength: isFar ? 12 : 0, to: &directory)
        // No comment, first disk, binary, no attributes.
        directory += [UInt8](repeating: 0, count: 10)
        directory.appendLittleEndian(UInt32(clamping: entry.offset))
        directory += entry.name
        guard isFar else { return }
        directory.appendLittleEndian(UInt16(1))
        directory.appendLittleEndian(UInt16(8))
        directory.appendLittleEndian(entry.offset)
    }

    /// ZIP64: for archives beyond 4 GiB.
    private func appendLargeEnd(_ start: UInt64, _ size: UInt64, to directory: inout [UInt8]) {
        directory.appendLittleEndian(UInt32(0x0606_4B50))
        directory.appendLittleEndian(UInt64(44))
        for _ in 0..<2 { directory.appendLittleEndian(Self.version) }
        directory.appendLittleEndian(UInt64(0))
        for _ in 0..<2 { directory.appendLittleEndian(UInt64(entries.count)) }
        directory.appendLittleEndian(size)
        directory.appendLittleEndian(start)
        directory.appendLittleEndian(UInt32(0x0706_4B50))
        directory.appendLittleEndian(UInt32(0))
        directory.appendLittleEndian(start + size)
        directory.appendLittleEndian(UInt32(1))
    }

    /// What a reader needs to support: ZIP64.
    private static let version: UInt16 = 45

    /// From the version on: a descriptor follows, names are UTF-8, stored, 1980-01-01.
    private static func appendCommon(_ entry: Entry, sizes: Bool, extraLength: UInt16 = 0, to header: inout [UInt8]) {
        header.appendLittleEndian(version)
        header.appendLittleEndian(UInt16(1 << 3 | 1 << 11))
        header.appendLittleEndian(UInt16(0))
        header.appendLittleEndian(UInt16(0))
        header.appendLittleEndian(UInt16(1 << 5 | 1))
        if sizes { appendSizes(entry, to: &header) } else { header += [UInt8](repeating: 0, count: 12) }
        header.appendLittleEndian(UInt16(entry.name.count))
        header.appendLittleEndian(extraLength)
    }

    private static func appendSizes(_ entry: Entry, to header: inout [UInt8]) {
        header.appendLittleEndian(entry.checksum.value)
        header.appendLittleEndian(entry.size)
        header.appendLittleEndian(entry.size)
    }
}

extension [UInt8] {
    fileprivate mutating func appendLittleEndian(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }
}
