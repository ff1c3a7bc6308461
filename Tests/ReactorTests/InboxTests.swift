import Testing

@testable import Reactor

@Suite struct InboxTests {
    private var inbox = Inbox()
    private let item = Inbox.Item.work({})

    @Test("only the first item after the thread fell asleep wakes it")
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

    @Test("a thread with work left does not leave")
    mutating func noLeavingWithWork() {
        #expect(inbox.add(item) == .nothing)
        #expect(inbox.leave() == false)
    }

    @Test("when the thread is gone the first to add an item drains, the others do not")
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
