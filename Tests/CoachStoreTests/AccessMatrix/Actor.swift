/// Who knocks at the database, always with the rows of one owner in mind.
enum Actor: String, CaseIterable, Sendable {
    /// The user whose rows they are, as the gateway lets him act over REST.
    case owner
    /// The same user with a creator's token.
    case creator
    /// The same user behind PostgREST: everything that it sets before a request.
    case postgrest
    /// Another user.
    case other
    /// Another user with a creator's token.
    case otherCreator
    /// Another user with an operator's token.
    case `operator`
    /// Nobody is signed in.
    case anonymous
    /// The gateway at work for the owner.
    case gateway
    /// The gateway at work for another user.
    case gatewayForOther
    /// The gateway without any claims.
    case gatewayForNobody
    /// The gateway with claims, but without their subject beside them: for no user, and not for nobody.
    case gatewayHalfBound

    var role: String {
        switch self {
        case .owner, .creator, .postgrest, .other, .otherCreator, .operator: "authenticated"
        case .anonymous: "anon"
        case .gateway, .gatewayForOther, .gatewayForNobody, .gatewayHalfBound: "coach_gateway"
        }
    }

    /// What `request.jwt.claims` holds; '' is what a session has after an earlier transaction had set them.
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

    /// What the gateway sets beside the claims.
    func subject(owner: String, other: String) -> String? {
        switch self {
        case .gateway: owner
        case .gatewayForOther: other
        default: nil
        }
    }

    /// More settings, as PostgREST makes them.
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

/// What can be tried on a table.
enum Verb: Character, CaseIterable, Sendable {
    case select = "S"
    case insert = "I"
    case update = "U"
    case delete = "D"
}
