import Hummingbird

extension Request {
    /// The path in one spelling: as the router reads it, which ignores repeated slashes and a last one.
    var routedPath: String { "/" + uri.path.split(separator: "/").joined(separator: "/") }
}

extension StringProtocol {
    /// Whether a request's path is below this folder, whose name has no slashes: as the router reads it, which ignores repeated slashes.
    func isPath(below folder: String) -> Bool { drop { $0 == "/" }.hasPrefix("\(folder)/") }
}

extension String {
    /// Whether a request's path, with or without its query, is of a route that may answer with events, or below one that begins turns.
    var mayStreamEvents: Bool {
        let parts = prefix { $0 != "?" }.split(separator: "/").map(String.init)
        return switch parts.prefix(3) {
        case ["functions", "v1", "chat-stream"]: true
        case ["api", "v1", "personas"]: parts.last == "preview"
        case ["api", "v1", "operator"]: parts.dropFirst(3) == ["events"]
        default: false
        }
    }
}
