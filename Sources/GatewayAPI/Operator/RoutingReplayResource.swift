import JSON

/// What an edited domain configuration would change: `decisions` of a dry run. Counts, without any text.
public struct RoutingReplayResource: Sendable, Equatable {
    /// Messages that would go from one domain to another; nil is the generic answer.
    public struct Change: Sendable, Equatable {
        public var from: String?
        public var to: String?
        public var messages: Int

        public init(from: String?, to: String?, messages: Int) {
            self.from = from
            self.to = to
            self.messages = messages
        }
    }

    /// The newest messages whose domain the router decided, within 30 days: those that were tried.
    public var messages: Int
    /// Most frequent first.
    public var changes: [Change]

    public init(messages: Int, changes: [Change]) {
        self.messages = messages
        self.changes = changes
    }

    static let schema = Schema.object([
        .init("messages", .integer), .init("changed", .integer),
        .init(
            "changes",
            .array(of: .object([.init("from", .text.nullable), .init("to", .text.nullable), .init("messages", .integer)]))),
    ]).named("RoutingReplay")

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("messages", messages)
            writer.member("changed", changes.reduce(0) { $0 + $1.messages })
            writer.key(literal: "changes")
            writer.array { writer in
                for change in changes {
                    writer.object { writer in
                        writer.member("from", change.from)
                        writer.member("to", change.to)
                        writer.member("messages", change.messages)
                    }
                }
            }
        }
    }
}
