import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A persona that the user got access to by a share link.
public struct RedemptionResource: Sendable, Equatable {
    public var personaID: UUID
    public var redeemedAt: Timestamp

    public init(personaID: UUID, redeemedAt: Timestamp) {
        self.personaID = personaID
        self.redeemedAt = redeemedAt
    }
}

extension RedemptionResource: WireResource {
    public static let schemaName = "Redemption"
    public static let fields: [Schema.Field] = [.init("persona_id", .id), .init("redeemed_at", .time)]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("persona_id", personaID)
            writer.member("redeemed_at", redeemedAt)
        }
    }
}
