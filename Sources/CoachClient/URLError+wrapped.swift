import Foundation

extension URLError {
    /// The URL error that an error is, or has as its underlying error at any depth. SDKs for signing in wrap theirs.
    static func found(in error: any Error) -> URLError? {
        if let error = error as? URLError { return error }
        // By way of `Any`: on Apple's platforms, where every error is one, the direct cast is a warning.
        if let error = (error as Any) as? NSError {
            if error.domain == NSURLErrorDomain { return URLError((Code(rawValue: error.code) as Code?) ?? .unknown) }
            return underlying(error.userInfo)
        }
        return (error as? any CustomNSError).flatMap { underlying($0.errorUserInfo) }
    }

    private static func underlying(_ userInfo: [String: Any]) -> URLError? {
        (userInfo[NSUnderlyingErrorKey] as? any Error).flatMap { found(in: $0) }
    }
}
