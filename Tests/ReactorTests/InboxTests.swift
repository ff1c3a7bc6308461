import Testing

@testable import Reactor

@Suite struct InboxTests {
    private var inbox = Inbox()
    private let item = Inbox.Item.work({})

    @Test("only the first item after the thread fell asleep causes a wake-up")
    mutating func oneWakePerSleep() {
        #expect(inbox.add(item) == .nothing)
        #expect(inbox.fallAsleep() == false)
        var taken: [Inbox.Item] = []
        inbox.swapItems(with: &taken)
        #expect(taken.count == 1)
        #expect(inbox.fallAsleep() == true)
        #expect(inbox.add(item) == .wake)
        #expect(inbox.add(item) == .nothing)
    }

    @Test("a thread cannot leave while items are waiting")
    mutating func noLeavingWithWork() {
        #expect(inbox.add(item) == .nothing)
        #expect(inbox.leave() == false)
    }

    @Test("after the thread has left, the first caller that adds an item drains the inbox and the others do not")
    mutating func oneDrainer() {
        #expect(inbox.leave() == true)
        #expect(inbox.add(item) == .drainHere)
        #expect(inbox.add(item) == .nothing)
        var taken: [Inbox.Item] = []
        inbox.swapItems(with: &taken)
        #expect(inbox.leave() == true)
        #expect(inbox.add(item) == .drainHere)
    }
}
