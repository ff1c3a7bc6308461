import Foundation

/// A file system error. Contains the path and the reason, never the file's content.
public enum FileFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// No space left, or quota exceeded.
    case diskFull(path: String)
    /// Any other error: `EACCES`, `EIO`, `EROFS`, …
    case failed(operation: String, path: String, code: Int32)

    init(_ operation: String, _ path: String, code: Int32 = errno) {
        self = code == ENOSPC || code == EDQUOT ? .diskFull(path: path) : .failed(operation: operation, path: path, code: code)
    }

    public var description: String {
        switch self {
        case .diskFull(let path): "\(path): no space left on the disk"
        case .failed(let operation, let path, let code): "\(path): \(operation): \(String(cString: strerror(code)))"
        }
    }
}

/// Reads and writes files so that written files survive a power failure. All functions block and throw `FileFault`.
enum DurableFile {
    /// Creates a folder with mode 0700, and missing parents.
    static func makeFolder(_ folder: URL) throws {
        if mkdir(folder.path, 0o700) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, folder.path.count > 1 else { throw FileFault("create the folder", folder.path) }
        try makeFolder(folder.deletingLastPathComponent())
        guard mkdir(folder.path, 0o700) == 0 || errno == EEXIST else { throw FileFault("create the folder", folder.path) }
    }

    /// Writes a file atomically, replacing an existing one, and returns when it would survive a power failure (two fsyncs).
    static func write(_ bytes: Data, to file: URL, temporary: URL) throws {
        let descriptor = open(temporary.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileFault("create", temporary.path) }
        do {
            defer { close(descriptor) }
            try writeAll(bytes, to: descriptor, temporary.path)
            guard fsync(descriptor) == 0 else { throw FileFault("fsync", temporary.path) }
            guard rename(temporary.path, file.path) == 0 else { throw FileFault("rename", temporary.path) }
        } catch {
            unlink(temporary.path)
            throw error
        }
        try syncFolder(file.deletingLastPathComponent())
    }

    /// Makes the folder's entries survive a power failure.
    static func syncFolder(_ folder: URL) throws {
        let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileFault("open", folder.path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw FileFault("fsync", folder.path) }
    }

    /// Nil when the file does not exist.
    static func read(_ file: URL) throws -> Data? {
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw FileFault("open", file.path)
        }
        do {
            return try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).readToEnd() ?? Data()
        } catch {
            throw FileFault("read", file.path, code: EIO)
        }
    }

    /// The sorted names in a folder; empty when it does not exist.
    static func names(in folder: URL) throws -> [String] {
        guard let stream = opendir(folder.path) else {
            if errno == ENOENT { return [] }
            throw FileFault("list", folder.path)
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            // SAFETY: `d_name` is a NUL-terminated string inside the entry, which is valid until the next `readdir`.
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    private static func writeAll(_ bytes: Data, to descriptor: Int32, _ path: String) throws {
        try bytes.withUnsafeBytes { buffer in
            var written = 0
            while written < buffer.count {
                // SAFETY: `written < count`, so the rest is inside the buffer.
                let count = Foundation.write(descriptor, buffer.baseAddress.map { $0 + written }, buffer.count - written)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw FileFault("write", path, code: count == 0 ? EIO : errno) }
                written += count
            }
        }
    }
}
