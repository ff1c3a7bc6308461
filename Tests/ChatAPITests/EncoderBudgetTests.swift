import CoachCore
import Testing

@testable import ChatAPI

@Suite("Budget of the encoder")
struct EncoderBudgetTests {
    private let start = ContinuousClock.now

    private let user = UserID.random()

    /// How many messages of 2 ms are admitted at a rate, one after another; those with open danger are of a user each.
    private func admitted(
        _ budget: inout EncoderBudget, perSecond rate: Int, seconds: Int, _ need: MessageAssessor.EncodingNeed, from second: Int = 0
    ) -> Int {
        (0..<(rate * seconds)).count { number in
            let now = start + .seconds(second) + .seconds(1) * (Double(number) / Double(rate))
            let user = need == .danger ? UserID.random() : user
            let isAdmitted = budget.admit(need, of: user, at: now) == nil
            if isAdmitted { budget.finish(need, of: user, after: .milliseconds(2)) }
            return isAdmitted
        }
    }

    @Test("ordinary messages get their share of the machine, and what was saved up before")
    func share() {
        var budget = EncoderBudget(processors: 2)
        #expect(admitted(&budget, perSecond: 40, seconds: 10, .ordinary) == 400)
        let busy = admitted(&budget, perSecond: 500, seconds: 100, .ordinary, from: 10)
        // 0.1 s a second is 50 messages of 2 ms; 0.5 s are saved up.
        #expect((5_000...5_300).contains(busy))
    }

    @Test("where danger is open, a message is encoded unless many are pending, and costs ordinary ones nothing")
    func danger() {
        var budget = EncoderBudget(processors: 1)
        #expect(admitted(&budget, perSecond: 400, seconds: 10, .danger) == 4_000)
        #expect(admitted(&budget, perSecond: 20, seconds: 5, .ordinary, from: 10) == 100)
        let now = start + .seconds(60)
        let users = (0...EncoderBudget.maximumPending).map { _ in UserID.random() }
        let rejections = users.map { budget.admit(.danger, of: $0, at: now) }
        #expect(rejections.dropLast().allSatisfy { $0 == nil } && rejections.last == .full)
        budget.finish(.danger, of: users[0], after: .milliseconds(2))
        let next = budget.admit(.danger, of: user, at: now)
        #expect(next == nil)
    }

    @Test("the large encoder is left out when those behind would be late")
    func late() {
        var budget = EncoderBudget(processors: 2)
        let alone = EncoderQueue.longestWait / EncoderBudget.largeEncoderFactor
        _ = budget.admit(.danger, of: user, at: start)
        #expect(budget.hasTimeForLargeEncoder(.danger, after: alone))
        #expect(!budget.hasTimeForLargeEncoder(.danger, after: alone + .milliseconds(1)))
        _ = budget.admit(.danger, of: user, at: start)
        #expect(!budget.hasTimeForLargeEncoder(.danger, after: alone))
        #expect(budget.hasTimeForLargeEncoder(.danger, after: alone / 2))
        budget.finish(.danger, of: user, after: .milliseconds(2))
        #expect(budget.hasTimeForLargeEncoder(.danger, after: alone))
    }

    @Test("the large encoder reads ordinary messages while time for it is saved up, and those with open danger always")
    func saved() {
        var budget = EncoderBudget(processors: 2)
        let time = Duration.milliseconds(5)
        func isRead(_ need: MessageAssessor.EncodingNeed, at second: Double) -> Bool {
            let rejection = budget.admit(need, of: user, at: start + .seconds(1) * second)
            #expect(rejection == nil)
            let isRead = budget.hasTimeForLargeEncoder(need, after: time)
            budget.finish(need, of: user, after: isRead ? time * (1 + EncoderBudget.largeEncoderFactor) : time)
            return isRead
        }
        // 0.5 s are saved up for messages of 35 ms; what is left then is enough for the small encoder alone, twice.
        let first = (0..<16).map { _ in isRead(.ordinary, at: 0) }
        #expect(first == (0..<16).map { $0 < 14 })
        #expect(isRead(.danger, at: 0))
        // 0.1 s each second.
        let later = (1...10).map { isRead(.ordinary, at: Double($0)) }
        #expect(later.allSatisfy { $0 })
    }

    @Test("ordinary messages fill few of the places")
    func places() {
        var budget = EncoderBudget(processors: 2)
        let rejections = (0..<10).map { _ in budget.admit(.ordinary, of: .random(), at: start) }
        #expect(rejections.count { $0 == nil } == EncoderBudget.maximumPendingOrdinary && rejections.last == .full)
        let danger = budget.admit(.danger, of: user, at: start)
        #expect(danger == nil)
    }

    @Test("a user who fills their own places leaves the others theirs, and has no more than before when messages end")
    func ofOneUser() {
        var budget = EncoderBudget(processors: 2)
        let own = EncoderBudget.maximumPendingOfUser
        let needs: [MessageAssessor.EncodingNeed] = [.ordinary] + Array(repeating: .danger, count: own) + [.ordinary]
        let ofUser = needs.map { budget.admit($0, of: user, at: start) }
        #expect(ofUser.prefix(own).allSatisfy { $0 == nil } && ofUser.dropFirst(own) == [.full, .full])
        // Of the others one more than there are places left.
        let others = (0...EncoderBudget.maximumPending - own).map { _ in budget.admit(.danger, of: .random(), at: start) }
        #expect(others.dropLast().allSatisfy { $0 == nil } && others.last == .full)
        budget.finish(.ordinary, of: user, after: .milliseconds(2))
        let again = (0..<2).map { _ in budget.admit(.danger, of: user, at: start) }
        #expect(again == [nil, .full])
    }

    @Test("while others write, long messages of a user have a second at once, then two fifths of the time, one after another")
    func longMessagesOfOneUser() {
        var budget = EncoderBudget(processors: 2)
        func admit(at seconds: Double, of user: UserID) -> EncoderBudget.Rejection? {
            budget.admit(.danger, of: user, at: start + .seconds(1) * seconds)
        }
        #expect(admit(at: 0, of: .random()) == nil)
        let first = (0..<5).map { _ in
            let rejection = admit(at: 0, of: user)
            if rejection == nil { budget.finish(.danger, of: user, after: .milliseconds(200)) }
            return rejection
        }
        #expect(first == Array(repeating: nil, count: 5))
        #expect(admit(at: 0, of: user) == .overBudget)
        #expect(admit(at: 0, of: .random()) == nil)
        #expect(admit(at: 1, of: user) == nil)
        #expect(admit(at: 1, of: user) == .full)
        budget.finish(.danger, of: user, after: .seconds(60))
        #expect(admit(at: 2, of: user) == .overBudget)
        #expect(admit(at: 3, of: user) == nil)
    }

    @Test("a user who writes alone has all of the time; others count for ten seconds")
    func aloneUser() {
        var budget = EncoderBudget(processors: 2)
        func isAdmitted(at seconds: Double, of user: UserID) -> Bool {
            guard budget.admit(.danger, of: user, at: start + .seconds(1) * seconds) == nil else { return false }
            budget.finish(.danger, of: user, after: .milliseconds(200))
            return true
        }
        #expect((0..<100).allSatisfy { isAdmitted(at: Double($0) / 5, of: user) })
        #expect(isAdmitted(at: 20, of: .random()))
        #expect(!isAdmitted(at: 20, of: user))
        #expect(isAdmitted(at: 31, of: user))
    }

    @Test("of users who owe no time nothing is kept")
    func swept() {
        var budget = EncoderBudget(processors: 2)
        for number in 0..<1_000 {
            let user = UserID.random()
            let rejection = budget.admit(.danger, of: user, at: start + .seconds(number))
            #expect(rejection == nil)
            budget.finish(.danger, of: user, after: .milliseconds(2))
        }
        #expect(budget.shares.uses.count <= 256)
    }

    @Test("of a user without pending messages nothing is kept")
    func forgotten() {
        var budget = EncoderBudget(processors: 2)
        let users = (0..<3).map { _ in UserID.random() }
        for user in users + users { _ = budget.admit(.danger, of: user, at: start) }
        for user in users { budget.finish(.danger, of: user, after: .milliseconds(2)) }
        #expect(budget.pendingOfUsers == Dictionary(uniqueKeysWithValues: users.map { ($0, 1) }))
        for user in users { budget.finish(.danger, of: user, after: .milliseconds(2)) }
        #expect(budget.pendingOfUsers.isEmpty)
    }

    @Test("a message that took very long is forgotten after a while")
    func debt() {
        var budget = EncoderBudget(processors: 2)
        _ = budget.admit(.ordinary, of: user, at: start)
        budget.finish(.ordinary, of: user, after: .seconds(3_600))
        let rejection = budget.admit(.ordinary, of: user, at: start)
        #expect(rejection == .overBudget)
        let later = budget.admit(.ordinary, of: user, at: start + .seconds(6))
        #expect(later == nil)
    }
}
