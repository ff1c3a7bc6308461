import Foundation

/// A body of type `application/x-www-form-urlencoded` (WHATWG URL §5.1).
enum FormBody {
    /// The first value with a name, without white space around it; empty without one.
    static func value(of name: String, in body: [UInt8]) -> String {
        for pair in String(decoding: body, as: UTF8.self).split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0] == name else { continue }
            let value = parts[1].replacing("+", with: " ").removingPercentEncoding ?? ""
            return value.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        return ""
    }
}
