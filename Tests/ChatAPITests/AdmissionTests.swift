import CoachCore
import Testing
import TokenRelay

@testable import ChatAPI

@Suite("Admission")
struct AdmissionTests {
    @Test("turns that begin at the same time, and those in the registry, do not exceed the limit together")
    func limit() async throws {
        let registry = TurnRegistry()
        let admission = Admission(registry: registry, maximumTurns: 2)
        let isAdmitted = try await admission.admitting { first in
            try await admission.admitting { second in
                try await admission.admitting { third in [first == nil, second == nil, third == nil] }
            }
        }
        #expect(isAdmitted == [true, true, false])
        registry.insert(LiveTurn(facts: .sample))
        let isLaterAdmitted = try await admission.admitting { first in
            try await admission.admitting { second in [first == nil, second == nil] }
        }
        #expect(isLaterAdmitted == [true, false])
    }

    @Test("a turn that does not begin counts no longer")
    func failure() async throws {
        let admission = Admission(registry: TurnRegistry(), maximumTurns: 1)
        await #expect(throws: StoreFault.self) {
            try await admission.admitting { _ -> Void in throw StoreFault.unavailable(retryAfter: 1) }
        }
        let isAdmitted = try await admission.admitting { overload in overload == nil }
        #expect(isAdmitted)
    }

    @Test("no turn is admitted during a shutdown")
    func shutdown() async throws {
        let admission = Admission(registry: TurnRegistry(), maximumTurns: 1)
        admission.close()
        let isAdmitted = try await admission.admitting { overload in overload == nil }
        #expect(!isAdmitted)
    }
}
