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

    @Test("of one user, however many, do not displace those of others")
    func manyOfUser() {
        let repetitions = SDKRepetitions()
        let (user, other, now) = (UserID.random(), UserID.random(), ContinuousClock.now)
        let first = repetitions.key(of: 0, other, body, at: now)
        func numbered(_ number: Int) -> [UInt8] { Array("\(number)".utf8) }
        var keys: [String] = []
        for number in 0..<2 * SentRequests.mostRequests { keys.append(repetitions.key(of: 0, user, numbered(number), at: now).key) }
        #expect(repetitions.key(of: 1, other, body, at: now) == (first.key, true))
        let kept = keys.count - SentRequests.mostOfUser
        #expect(repetitions.key(of: 1, user, numbered(kept), at: now) == (keys[kept], true))
        #expect(!repetitions.key(of: 1, user, numbered(kept - 1), at: now).isRepetition)
    }

    @Test("of many users are remembered up to a number, and each is forgotten in its time")
    func full() {
        var requests = SentRequests()
        let start = ContinuousClock.now
        let ids = (0...SentRequests.mostRequests).map { SentRequests.ID(userID: .random(), bodyHash: $0) }
        for (index, id) in ids.enumerated() { requests.set("\(index)", of: id, at: start + .milliseconds(index)) }
        #expect(requests.count == SentRequests.mostRequests)
        let full = start + .milliseconds(ids.count)
        #expect(requests.key(of: ids[0], at: full) == nil, "the oldest")
        #expect(requests.key(of: ids[1], at: full) == "1")
        // A repetition makes its request the newest.
        requests.set("1", of: ids[1], at: full)
        requests.set("new", of: ids[0], at: full)
        #expect(requests.count == SentRequests.mostRequests)
        #expect(requests.key(of: ids[1], at: full) == "1")
        #expect(requests.key(of: ids[2], at: full) == nil)
        let late = start + .seconds(12 * 60) + .milliseconds(ids.count - 1)
        #expect(requests.key(of: ids[0], at: late) == "new")
        #expect(requests.count == 2)
        #expect(requests.key(of: ids[0], at: full + .seconds(12 * 60)) == nil)
        #expect(requests.count == 0)
    }
}
