import JSON

/// An element of `GET /api/v1/domains`: the public part of a domain's configuration.
public struct DomainResource: Sendable, Equatable {
    public var id: String
    public var name: String
    public var description: String
    /// First message of the coach.
    public var greeting: String
    /// Example first messages.
    public var starters: [String]

    public init(id: String, name: String, description: String, greeting: String, starters: [String]) {
        self.id = id
        self.name = name
        self.description = description
        self.greeting = greeting
        self.starters = starters
    }
}

extension DomainResource: WireResource {
    public static let schemaName = "Domain"
    public static let fields: [Schema.Field] = [
        .init("id", .text), .init("name", .text), .init("description", .text), .init("greeting", .text),
        .init("starters", .array(of: .text)),
    ]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("name", name)
            writer.member("description", description)
            writer.member("greeting", greeting)
            writer.key(literal: "starters")
            writer.array { writer in for starter in starters { writer.string(starter) } }
        }
    }
}
