import ArgumentParser
import Foundation

/// Finds the folder that holds the product's data: migrations, prompts, domains, deployment files.
enum DataFolders {
    private static let expected = ["db", "prompts", "domains", "deploy"]

    /// `named` alone when given; else the working folder, else the nearest folder above the executable that has all four.
    static func find(_ named: String?) -> URL? {
        if let named { return isRoot(URL(fileURLWithPath: named)) ? URL(fileURLWithPath: named) : nil }
        let working = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
        if isRoot(working) { return working }
        var folder = URL(fileURLWithPath: executablePath).resolvingSymlinksInPath().deletingLastPathComponent()
        while folder.path != "/" {
            if isRoot(folder) { return folder }
            folder.deleteLastPathComponent()
        }
        return nil
    }

    /// For commands that need nothing else of the configuration.
    static func required() throws -> URL {
        if let root = find(ProcessInfo.processInfo.environment[SettingKey.root.name]) { return root }
        throw ValidationError("the folder with domains/ was not found: set \(SettingKey.root.name)")
    }

    private static var executablePath: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    }

    private static func isRoot(_ folder: URL) -> Bool {
        expected.allSatisfy { name in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: folder.appendingPathComponent(name).path, isDirectory: &isFolder)
                && isFolder.boolValue
        }
    }
}
