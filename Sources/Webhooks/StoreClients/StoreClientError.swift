/// Why a store, RevenueCat or the receiver of alerts gave no usable answer. Never a reason to end an entitlement.
public enum StoreClientError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Another attempt may succeed.
    case temporary(String)
    /// No further attempt can: the request or the answer is wrong. Wrong credentials are temporary, because somebody can mend them.
    case permanent(String)

    public var description: String {
        switch self {
        case .temporary(let reason), .permanent(let reason): reason
        }
    }
}
