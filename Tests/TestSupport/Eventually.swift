/// A condition that a test waited for did not become true in time.
package struct TimedOut: Error, CustomStringConvertible {
    package let description: String
}

/// Waits until a condition holds.
/// - Parameters:
///   - limit: generous where time is not what the test is about: other tests may take the machine, and a run that passes never waits for
///     it.
///   - what: ends the sentence "waited in vain for".
/// - Throws: `TimedOut`, or what `condition` throws.
package func eventually(
    within limit: Duration = .seconds(60), _ what: @autoclosure () -> String = "a condition", isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line, _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < deadline else { throw TimedOut(description: "\(file):\(line): waited \(limit) in vain for \(what())") }
        try await Task.sleep(for: .milliseconds(2))
    }
}
