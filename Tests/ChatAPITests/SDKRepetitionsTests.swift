import CoachCore
import Testing

@testable import ChatAPI

@Suite("Repeated requests of SDKs")
struct SDKRepetitionsTests {
    private let body = Array(#"{"model":"coach"}"#.utf8)

    @Test("get the key of the request that they repeat; a new request has a key of its own, also with the same body")
    func repeated() {
        let repetitions = SDKRepetitions()
        let user = UserID.random()
        let first = repetitions.key(of: 0, user, body)
        #expect(!first.isRepetition)
        for count in 1...2 { #expect(repetitions.key(of: count, user, body) == (first.key, true)) }
        let second = repetitions.key(of: 0, user, body)
        #expect(!second.isRepetition && second.key != first.key)
        #expect(repetitions.key(of: 1, user, body) == (second.key, true))
    }

    @Test("of another user, with another body or too late have a key of their own, which their next repetition gets")
    func others() {
        let repetitions = SDKRepetitions()
        let (user, start) = (UserID.random(), ContinuousClock.now)
        let first = repetitions.key(of: 0, user, body, at: start)
        #expect(!repetitions.key(of: 1, UserID.random(), body, at: start).isRepetition)
        #expect(!repetitions.key(of: 1, user, body + [32], at: start).isRepetition)
        for (count, seconds) in [(1, 719), (2, 1438)] {
            #expect(repetitions.key(of: count, user, body, at: start + .seconds(seconds)) == (first.key, true))
        }
        let late = repetitions.key(of: 1, user, body, at: start + .seconds(1438 + 720))
        #expect(!late.isRepetition && late.key != first.key)
        #expect(repetitions.key(of: 2, user, body, at: start + .seconds(1438 + 721)) == (late.key, true))
    }
}
