import CoachCore
import Dispatch
import Testing

@testable import ChatAPI

@Suite("Queue of the encoder", .timeLimit(.minutes(1)))
struct EncoderQueueTests {
    private let queue = EncoderQueue()
    private let user = UserID.random()
    private let calm = MessageAssessment(risk: .calm, domains: DomainScores(values: Domain.allCases.map { _ in 0 }, none: 1, wordCount: 9))

    private func isAdmitted(_ user: UserID) -> Bool { queue.admit(.danger, of: user) != nil }

    @Test("a user with many messages has half of the places, and another's message is taken")
    func ofOneUser() {
        #expect((0..<64).count { _ in isAdmitted(user) } == EncoderBudget.maximumPendingOfUser)
        #expect(isAdmitted(.random()))
    }

    @Test("messages whose tasks are cancelled, while they wait or while they are read, give their places back")
    func cancelled() async throws {
        let (queue, user, calm) = (queue, user, calm)
        let isOpen = DispatchSemaphore(value: 0)
        let permits = (0..<64).compactMap { _ in queue.admit(.danger, of: user) }
        try #require(permits.count == EncoderBudget.maximumPendingOfUser)
        // The thread reads the first one until the semaphore opens; the others wait for it.
        let messages = permits.map { permit in
            Task {
                await queue.run(permit, calm) { _ in
                    isOpen.wait()
                    return calm
                }
            }
        }
        for message in messages { message.cancel() }
        #expect(!isAdmitted(user))
        for _ in messages { isOpen.signal() }
        for message in messages { _ = await message.value }
        // Not bounded by the time that the first message took.
        #expect(queue.admit(.ordinary, of: user) != nil)
        #expect((0..<64).count { _ in isAdmitted(.random()) } == EncoderBudget.maximumPending - 1)
    }

    @Test("a task that is cancelled before its message is queued gives its place back, too")
    func cancelledBefore() async {
        let (queue, user, calm) = (queue, user, calm)
        for _ in 0..<5 {
            let message = Task {
                while !Task.isCancelled { await Task.yield() }
                guard let permit = queue.admit(.danger, of: user) else { return false }
                _ = await queue.run(permit, calm) { _ in calm }
                return true
            }
            message.cancel()
            #expect(await message.value)
        }
    }
}
