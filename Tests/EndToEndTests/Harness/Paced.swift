import Testing

/// At most so many tests of the end-to-end suites at once: each drives several processes, and a machine that is late with all of them
/// proves nothing about time limits.
struct Paced: SuiteTrait, TestTrait, TestScoping {
    fileprivate let turnstile: Turnstile

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        await turnstile.enter()
        do {
            try await function()
            await turnstile.leave()
        } catch {
            await turnstile.leave()
            throw error
        }
    }
}

extension Trait where Self == Paced {
    /// For tests that use much CPU.
    static var paced: Self { Paced(turnstile: .busy) }
    /// For tests that mostly wait for a time limit; they are limited separately, so that they do not delay the others.
    static var patient: Self { Paced(turnstile: .waiting) }
}

private actor Turnstile {
    static let busy = Turnstile(places: 6)
    static let waiting = Turnstile(places: 12)

    private var free: Int
    private var line: [CheckedContinuation<Void, Never>] = []

    init(places: Int) { free = places }

    func enter() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { line.append($0) }
        }
    }

    func leave() {
        if line.isEmpty { free += 1 } else { line.removeFirst().resume() }
    }
}
