import Foundation

/// A folder for one test, removed with the value.
final class Folder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "/coach-gateway-test-" + UUID().uuidString.lowercased()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        ProcessCleanup.runAtEnd("rm -rf '\(path)'")
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// A copy of the folders that the product reads: `db`, `prompts`, `domains`, `deploy`. Models and rows are links: tests remove, but do not change
    /// them.
    static func copyOfRoot() throws -> Folder {
        let folder = try Folder()
        for name in ["db", "prompts", "domains", "deploy"] { try folder.copyOfRoot(name) }
        return folder
    }

    private func copyOfRoot(_ name: String) throws {
        let (source, target) = (Program.root.path + "/" + name, path + "/" + name)
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: source) else {
            let isLarge = name.hasSuffix(".bin") || name.hasSuffix(".jsonl")
            if isLarge { return try FileManager.default.createSymbolicLink(atPath: target, withDestinationPath: source) }
            return try FileManager.default.copyItem(atPath: source, toPath: target)
        }
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
        for entry in names { try copyOfRoot(name + "/" + entry) }
    }

    /// Changes a JSON object in a file.
    func edit(_ name: String, _ change: (inout [String: Any]) -> Void) throws {
        let file = URL(fileURLWithPath: path).appendingPathComponent(name)
        var object = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any] ?? [:]
        change(&object)
        try JSONSerialization.data(withJSONObject: object).write(to: file)
    }

    /// Writes a file.
    func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path).appendingPathComponent(name))
    }
}
