import Foundation

/// A file of the product's data, or why it cannot be read.
struct ProductFile {
    let root: URL

    /// `finding` names the path and the reason; then the bytes are nil.
    func read(_ path: String) -> (bytes: Data?, finding: String?) {
        let full = root.appendingPathComponent(path).path
        let descriptor = open(full, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return (nil, "\(path): cannot be read: \(String(cString: strerror(errno)))") }
        do {
            return (try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).readToEnd() ?? Data(), nil)
        } catch {
            return (nil, "\(path): cannot be read: it is no file, or the disk refuses")
        }
    }

    /// The names of a folder's files, sorted, without its subfolders.
    func names(in folder: String, suffix: String) -> (names: [String], finding: String?) {
        do {
            let names = try FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent(folder).path)
            return (names.filter { $0.hasSuffix(suffix) }.sorted(), nil)
        } catch {
            return ([], "\(folder): the folder cannot be read")
        }
    }
}
