import JSON

/// What an edited domain configuration would change: `decisions` of a dry run. Counts in steps, without any text.
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
    /// How many would go elsewhere, one of each user at most: a multiple of `step`; nil when fewer than `step`, or none.
    public var changed: Int?
    /// Those of `step` messages or more, most frequent first.
    public var changes: [Change]
    public var step: Int

    public init(messages: Int, changed: Int?, changes: [Change], step: Int) {
        self.messages = messages
        self.changed = changed
        self.changes = changes
        self.step = step
    }

    static let schema = Schema.object([
        .init("messages", .integer),
        .init("changed", Schema.any.described("an integer in steps of five, rounded down, one message of each user at most; or \"<5\"")),
        .init(
            "changes",
            .array(of: .object([.init("from", .text.nullable), .init("to", .text.nullable), .init("messages", .integer)]))),
    ]).named("RoutingReplay")

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("messages", messages)
            if let changed { writer.member("changed", changed) } else { writer.member("changed", "<\(step)") }
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
