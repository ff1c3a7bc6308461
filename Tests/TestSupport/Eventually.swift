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
    let start = ContinuousClock.now
    while try await !condition() {
        let waited = start.duration(to: .now)
        guard waited < limit else { throw TimedOut(description: "\(file):\(line): waited \(limit) in vain for \(what())") }
        // What takes seconds is not asked so often that the questions take the processor from what is waited for.
        try await Task.sleep(for: min(max(waited / 20, .milliseconds(2)), .milliseconds(20)))
    }
}
