import Testing

@testable import PostgresClient

extension PipelineQueue.Action: CustomStringConvertible {
    public var description: String {
        switch self {
        case .none: "none"
        case .deliver(let owner, let isLast): "deliver \(owner)\(isLast ? " last" : "")"
        case .fail(let owner): "fail \(owner)"
        case .finished(let owner): "finished \(owner)"
        case .violation: "violation"
        }
    }
}

@Suite struct PipelineQueueTests {
    private var queue = PipelineQueue<String>()

    private mutating func receive(_ all: PipelineQueue<String>.Received...) -> [String] {
        all.map { "\(queue.received($0))" }
    }

    @Test("a group is delivered statement by statement and finished by its sync")
    mutating func group() {
        queue.sent("a", statements: 2)
        #expect(receive(.result, .separator, .result, .separator, .sync) == ["deliver a", "none", "deliver a last", "none", "finished a"])
        #expect(queue.isEmpty)
    }

    @Test("after an error the rest of the group is skipped, and the next group starts clean")
    mutating func error() {
        queue.sent("a", statements: 3)
        queue.sent("b", statements: 1)
        #expect(
            receive(.result, .separator, .error, .separator, .aborted, .separator) == [
                "deliver a", "none", "fail a", "none", "none", "none",
            ])
        #expect(receive(.sync, .result, .separator, .sync) == ["finished a", "deliver b last", "none", "finished b"])
    }

    @Test("a commit that fails is the failure of its group")
    mutating func commitFails() {
        queue.sent("a", statements: 1)
        #expect(receive(.result, .separator, .error, .sync) == ["deliver a last", "none", "fail a", "finished a"])
        queue.sent("b", statements: 1)
        #expect(receive(.result, .separator, .error, .separator, .sync) == ["deliver b last", "none", "fail b", "none", "finished b"])
    }

    @Test("only the first error of a group counts")
    mutating func secondError() {
        queue.sent("a", statements: 1)
        #expect(receive(.error, .separator, .error, .sync) == ["fail a", "none", "none", "finished a"])
    }

    @Test("a result that the protocol does not allow is a violation")
    mutating func violations() {
        #expect(receive(.result) == ["violation"])
        queue.sent("a", statements: 1)
        #expect(receive(.sync, .separator, .aborted) == ["violation", "violation", "violation"])
        #expect(receive(.result, .result, .error, .aborted) == ["deliver a last", "violation", "violation", "violation"])
        #expect(receive(.separator, .separator, .result) == ["none", "violation", "violation"])
    }

    @Test("when the connection is lost the outstanding owners are returned in order")
    mutating func lost() {
        for name in ["a", "b", "c"] { queue.sent(name, statements: 1) }
        _ = receive(.result, .separator, .sync, .result)
        #expect(queue.removeAll() == ["b", "c"])
        #expect(queue.isEmpty)
    }

    @Test("a queue that is never empty does not grow in memory")
    mutating func steady() {
        queue.sent("first", statements: 1)
        for number in 0..<1000 {
            queue.sent("\(number)", statements: 1)
            _ = receive(.result, .separator, .sync)
        }
        #expect(queue.removeAll() == ["999"])
    }
}
