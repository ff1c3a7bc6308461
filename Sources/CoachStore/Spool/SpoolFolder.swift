import CoachCore
import Foundation
import JSON
import Synchronization

/// A folder of records that wait on disk for the database, one file each, with mode 0600. `ReceiptSpool.files` and `CallSpool.files` are built on it.
public final class SpoolFolder: Sendable {
    /// A file without a record of the folder's type: truncated by a crash, or written by another program. It is kept.
    public struct Unreadable: Sendable, Equatable {
        public var path: String
        public var reason: String
    }

    private let folder: URL
    private let content: String
    private let kept = Mutex(0)
    /// The names of the unfinished files that this process is writing. Other calls must not read or remove them.
    private let writing = Mutex<Set<String>>([])
    /// The paths of the unreadable files that `contents` has returned.
    private let reported = Mutex<Set<String>>([])
    private static let rejected = ".rejected"

    /// - Parameters:
    ///   - folder: created if missing.
    ///   - content: the name of the record's type, with which the names of the files end.
    /// - Throws: `FileFault`.
    init(_ folder: URL, content: String) throws {
        self.folder = folder
        self.content = content
        try DurableFile.makeFolder(folder)
        // Files that an earlier process rejected are tried once more, because this process may have a later version.
        for name in try DurableFile.names(in: folder) where name.hasSuffix(Self.rejected) {
            let file = folder.appendingPathComponent(name).path
            rename(file, String(file.dropLast(Self.rejected.count)))
        }
    }

    /// Writes a file, and returns when it would survive a power failure. Blocks the thread for two fsyncs. Throws `FileFault`.
    func keep(_ value: some StoredWritable, named label: String) throws -> ReceiptSpool.Handle {
        let bytes = Data(StoredJSON.bytes(value))
        let name = nextName(label)
        let unfinished = name + ".unfinished"
        writing.withLock { _ = $0.insert(unfinished) }
        defer { writing.withLock { _ = $0.remove(unfinished) } }
        try DurableFile.write(bytes, to: folder.appendingPathComponent(name), temporary: folder.appendingPathComponent(unfinished))
        return ReceiptSpool.Handle(name: name)
    }

    func discard(_ handle: ReceiptSpool.Handle) { unlink(folder.appendingPathComponent(handle.name).path) }

    /// Renames a file so that this process does not read it again. Returns its path, which is the old one if that fails.
    @discardableResult
    func reject(_ handle: ReceiptSpool.Handle) -> String {
        let file = folder.appendingPathComponent(handle.name).path
        return rename(file, file + Self.rejected) == 0 ? file + Self.rejected : file
    }

    /// Oldest first, including complete files that a crashed process had not renamed yet; each unreadable file only once. Throws `FileFault` when the folder
    /// cannot be read.
    /// - Parameters:
    ///   - known: files that are not read.
    ///   - rejectsMalformed: whether `reject` is applied to files that are not of the type.
    func contents<Value: JSONReadable>(
        of type: Value.Type, besides known: Set<ReceiptSpool.Handle> = [], rejectsMalformed: Bool = false
    ) throws -> (stored: [(handle: ReceiptSpool.Handle, value: Value)], unreadable: [Unreadable]) {
        var stored: [(handle: ReceiptSpool.Handle, value: Value)] = []
        var unreadable: [Unreadable] = []
        for name in try DurableFile.names(in: folder) where !name.hasSuffix(Self.rejected) {
            if known.contains(ReceiptSpool.Handle(name: name)) { continue }
            // A file whose writing ended since the folder was listed has another name now, or none, so it is not found below.
            if writing.withLock({ $0.contains(name) }) { continue }
            let file = folder.appendingPathComponent(name)
            do {
                guard let bytes = try DurableFile.read(file) else { continue }
                stored.append((ReceiptSpool.Handle(name: name), try StoredJSON.decode(type, from: Array(bytes))))
            } catch let error as JSONFinding {
                let path = rejectsMalformed ? reject(ReceiptSpool.Handle(name: name)) : file.path
                unreadable.append(Unreadable(path: path, reason: "not a \(content): \(error.path)"))
            } catch {
                unreadable.append(Unreadable(path: file.path, reason: "\(error)"))
            }
        }
        return (stored, unreadable.filter { file in reported.withLock { $0.insert(file.path).inserted } })
    }

    /// A unique file name: the time in microseconds, a number within the process, and the label. So names sort by time.
    private func nextName(_ label: String) -> String {
        let number = kept.withLock { kept in
            kept += 1
            return kept
        }
        return "\(padded(Date().microseconds, to: 17))-\(padded(Int64(number), to: 9))-\(label).\(content)"
    }

    private func padded(_ number: Int64, to digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
