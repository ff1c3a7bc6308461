import Foundation

/// A file of API keys, one a line. Empty lines, and lines that begin with `#`, are ignored.
enum KeyFile {
    /// nil when the file cannot be read, has no key, or has a character that cannot stand in a header.
    static func read(_ path: String) -> [String]? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        let keys = text.split(whereSeparator: \.isNewline).map { ProviderKeys.trimmed(String($0)) }.filter {
            !$0.isEmpty && !$0.hasPrefix("#")
        }
        guard !keys.isEmpty, keys.allSatisfy({ $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } }) else { return nil }
        return keys
    }
}
