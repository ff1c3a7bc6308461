import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `GET /api/v1/me`.
public struct MeResource: Sendable, Equatable {
    public var id: UUID
    public var displayName: String?
    /// BCP 47.
    public var locale: String?
    /// ISO 3166-1 alpha-2.
    public var country: String?
    /// IANA.
    public var timeZone: String?
    public var isMinor: Bool?
    public var createdAt: Timestamp
    public var updatedAt: Timestamp

    public init(
        id: UUID, displayName: String?, locale: String?, country: String?, timeZone: String?, isMinor: Bool?, createdAt: Timestamp,
        updatedAt: Timestamp
    ) {
        self.id = id
        self.displayName = displayName
        self.locale = locale
        self.country = country
        self.timeZone = timeZone
        self.isMinor = isMinor
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

extension MeResource: WireResource {
    public static let schemaName = "Me"
    public static let fields: [Schema.Field] = [
        .init("id", .id), .init("display_name", .text.nullable), .init("locale", .text.nullable), .init("country", .text.nullable),
        .init("time_zone", .text.nullable), .init("is_minor", .boolean.nullable), .init("created_at", .time), .init("updated_at", .time),
    ]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("display_name", displayName)
            writer.member("locale", locale)
            writer.member("country", country)
            writer.member("time_zone", timeZone)
            writer.member("is_minor", isMinor)
            writer.member("created_at", createdAt)
            writer.member("updated_at", updatedAt)
        }
    }
}
