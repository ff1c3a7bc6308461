import Foundation

extension KeySource {
    /// A file, read again every 2 s. Comparing its bytes detects every way of replacing it (write, rename, a ConfigMap's symbolic link),
    /// which modification times do not; the file is small and in the page cache.
    public static func file(_ path: String, interval: Duration = .seconds(2)) -> KeySource {
        KeySource(interval: interval) {
            guard let handle = FileHandle(forReadingAtPath: path) else { throw KeySourceError.unreadable(path: path) }
            defer { try? handle.close() }
            guard let data = try? handle.read(upToCount: maximumByteCount + 1) else { throw KeySourceError.unreadable(path: path) }
            guard data.count <= maximumByteCount else { throw KeySourceError.tooLarge }
            return Array(data)
        }
    }
}
