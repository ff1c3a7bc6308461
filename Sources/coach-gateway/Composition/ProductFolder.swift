import Foundation

/// The folder of the product's data.
struct ProductFolder {
    let root: URL

    /// The content of a file. nil when it cannot be read, with a finding that names the path and the reason.
    func read(_ path: String) -> (content: [UInt8]?, findings: [String]) {
        let full = root.appendingPathComponent(path).path
        let descriptor = open(full, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return (nil, ["\(path): cannot be read: \(String(cString: strerror(errno)))"]) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let bytes = Self.read(descriptor, count: Int(status.st_size))
        else {
            return (nil, ["\(path): cannot be read: it is no file, or the disk refuses"])
        }
        return (bytes, [])
    }

    /// Straight into the array: the models are a hundred megabytes, which `Data` on the way would hold twice. nil when fewer bytes can be read.
    private static func read(_ descriptor: CInt, count: Int) -> [UInt8]? {
        // SAFETY: the first `filled` bytes of the room for `count` are written at every exit, and no more are asked for than fit behind them.
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while let free = buffer.baseAddress.map({ $0 + filled }), filled < count {
                let result = Foundation.read(descriptor, free, count - filled)
                if result < 0, errno == EINTR { continue }
                guard result > 0 else { return }
                filled += result
            }
        }
        return bytes.count == count ? bytes : nil
    }

    /// The names of a folder's files, sorted, without its subfolders.
    func names(in folder: String, suffix: String) -> (names: [String], findings: [String]) {
        do {
            let names = try FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent(folder).path)
            return (names.filter { $0.hasSuffix(suffix) }.sorted(), [])
        } catch {
            return ([], ["\(folder): the folder cannot be read"])
        }
    }
}
