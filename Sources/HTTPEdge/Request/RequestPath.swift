import Hummingbird

extension Request {
    /// The path in one spelling: as the router reads it, which ignores repeated slashes and a last one.
    var routedPath: String { "/" + uri.path.split(separator: "/").joined(separator: "/") }
}

extension StringProtocol {
    /// Whether a request's path is below this folder, whose name has no slashes: as the router reads it, which ignores repeated slashes.
    func isPath(below folder: String) -> Bool { drop { $0 == "/" }.hasPrefix("\(folder)/") }
}
