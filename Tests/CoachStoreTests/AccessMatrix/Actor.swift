/// A role and identity that accesses the database. Actors are defined relative to one owner, whose rows are accessed.
enum Actor: String, CaseIterable, Sendable {
    /// The owner of the rows, as the gateway runs statements for them.
    case owner
    /// The owner with a creator's token.
    case creator
    /// The owner through PostgREST, with all settings that it makes before a request.
    case postgrest
    /// Another user.
    case other
    /// Another user with a creator's token.
    case otherCreator
    /// Another user with an operator's token.
    case `operator`
    /// Role `anon`: no user is signed in.
    case anonymous
    /// The gateway's role, bound to the owner.
    case gateway
    /// The gateway's role, bound to another user.
    case gatewayForOther
    /// The gateway's role without claims.
    case gatewayForNobody
    /// The gateway's role with claims but without the separate setting of their subject, which is bound to no user.
    case gatewayHalfBound

    var role: String {
        switch self {
        case .owner, .creator, .postgrest, .other, .otherCreator, .operator: "authenticated"
        case .anonymous: "anon"
        case .gateway, .gatewayForOther, .gatewayForNobody, .gatewayHalfBound: "coach_gateway"
        }
    }

    /// The setting `request.jwt.claims`; '' is its value in a session after an earlier transaction has set it.
    func claims(owner: String, other: String) -> String {
        switch self {
        case .owner, .gateway, .gatewayHalfBound: Self.claims(owner)
        case .creator: Self.claims(owner, "creator")
        case .postgrest: Self.claims(owner, more: #","aud":"authenticated","email":"a@example.org","user_metadata":{"role":"operator"}"#)
        case .other, .gatewayForOther: Self.claims(other)
        case .otherCreator: Self.claims(other, "creator")
        case .operator: Self.claims(other, "operator")
        case .anonymous: #"{"role":"anon"}"#
        case .gatewayForNobody: ""
        }
    }

    /// The setting of the subject, which the gateway makes beside the claims.
    func subject(owner: String, other: String) -> String? {
        switch self {
        case .gateway: owner
        case .gatewayForOther: other
        default: nil
        }
    }

    /// Further settings that PostgREST makes.
    var settings: [String: String] {
        guard self == .postgrest else { return [:] }
        return [
            "search_path": "public", "request.method": "POST", "request.path": "/rpc", "request.headers": "{}", "request.cookies": "{}",
            "request.jwt.claim.sub": "",
        ]
    }

    private static func claims(_ sub: String, _ role: String? = nil, more: String = "") -> String {
        let metadata = role.map { #","app_metadata":{"role":"\#($0)"}"# } ?? ""
        return #"{"sub":"\#(sub)","role":"authenticated"\#(metadata)\#(more)}"#
    }
}

/// The statements that are tried on a table.
enum Verb: Character, CaseIterable, Sendable {
    case select = "S"
    case insert = "I"
    case update = "U"
    case delete = "D"
}
