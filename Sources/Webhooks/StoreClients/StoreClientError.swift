/// Why a store or RevenueCat gave no usable answer. Never a reason to end an entitlement.
public enum StoreClientError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Another attempt may succeed.
    case temporary(String)
    /// No further attempt can: the credentials, the request or the answer are wrong.
    case permanent(String)

    public var description: String {
        switch self {
        case .temporary(let reason), .permanent(let reason): reason
        }
    }
}
