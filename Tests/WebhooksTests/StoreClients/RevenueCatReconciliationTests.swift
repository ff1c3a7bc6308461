import CoachCore
import Foundation
import HTTPTestServers
import JSON
import OutboundHTTP
import Testing

@testable import Webhooks

@Suite("Reconciliation with RevenueCat")
struct RevenueCatReconciliationTests {
    private static let user = SubscriberID("7f3d6c1e-0b7a-4f7e-9b1a-3c5d2e1f0a9b")!
    private static let path = "/v1/subscribers/7f3d6c1e-0b7a-4f7e-9b1a-3c5d2e1f0a9b"
    private let store: StoreAPI
    private let client: OutboundHTTPClient
    private let recorder = InboxRecorder()

    init() throws {
        store = try StoreAPI()
        client = try OutboundHTTPClient(OutboundConfiguration())
    }

    private var reconciliation: RevenueCatReconciliation {
        RevenueCatReconciliation(key: "sk_test", baseURL: store.url, client: client, inbox: recorder.inbox)
    }

    @Test("the whole subscriber is stored as a snapshot event; equal answers have the same id")
    func snapshot() async throws {
        defer { client.shutDown() }
        try await store.answer(Self.path, #"{"request_date_ms":1768435200000,"subscriber":{"subscriptions":{},"entitlements":{}}}"#)
        try await reconciliation.reconcile(Self.user)
        try await reconciliation.reconcile(Self.user)
        let deliveries = recorder.deliveries
        #expect(deliveries.count == 2 && Set(deliveries.map(\.id)).count == 1 && deliveries.allSatisfy { $0.followUp.isEmpty })
        guard case .event(let event)? = deliveries.first?.effect else {
            Issue.record("no event")
            return
        }
        #expect(event.change == .snapshot([]) && event.subject == [Self.user])
        let requests = try await store.requests()
        #expect(requests.count == 2 && requests.allSatisfy { $0.authorization == "Bearer sk_test" && $0.path == Self.path })
    }

    @Test("an unusable answer is a temporary or permanent error, and never ends an entitlement")
    func failures() async throws {
        defer { client.shutDown() }
        for (status, body, isPermanent) in [
            (500, "", false), (429, "", false), (401, "", false), (404, "", true), (200, "not json", true), (200, "{}", true),
        ] {
            try await store.answer(Self.path, status: status, headers: ["Retry-After": "1"], body)
            let error = await #expect(throws: StoreClientError.self) { try await reconciliation.reconcile(Self.user) }
            if case .permanent? = error { #expect(isPermanent, "\(status)") } else { #expect(!isPermanent, "\(status)") }
        }
        try await store.answer(Self.path, status: 201, "{}")
        try await reconciliation.reconcile(Self.user)
        #expect(recorder.deliveries.isEmpty)
    }

    @Test("an id is encoded as one segment of the path")
    func encoding() async throws {
        defer { client.shutDown() }
        await #expect(throws: StoreClientError.self) { try await reconciliation.reconcile(SubscriberID("$RC:a/../b?ü")!) }
        #expect(try await store.requests().map(\.path) == ["/v1/subscribers/%24RC%3Aa%2F..%2Fb%3F%C3%BC"])
    }

    @Test("subscribers that are due at once are asked for one after another: the server receives no more than four requests a second")
    func rate() async throws {
        defer { client.shutDown() }
        let (reconciliation, queue) = (reconciliation, JobRecorder())
        recorder.expiring = (0..<6).map { _ in UserID.random() }.sorted { $0.description < $1.description }
        try await reconciliation.enqueueExpiring(.daily, at: Date(), in: queue.queue)
        let due = queue.jobs.compactMap { $0.payload["subscriber"]?.string.flatMap { SubscriberID($0) } }
        var start = 0.0
        for subscriber in due { start = try await store.answer("/v1/subscribers/\(subscriber.text)", status: 201, "{}") }
        try await withThrowingTaskGroup { group in
            for subscriber in due { group.addTask { try await reconciliation.reconcile(subscriber) } }
            try await group.waitForAll()
        }
        let times = try await store.requests().map(\.at)
        #expect(times.count == 6)
        // Each may arrive late, and then the next one sooner after it; but none before its turn.
        for (index, time) in times.sorted().enumerated() { #expect(time - start >= 0.25 * Double(index), "request \(index)") }
    }

    @Test("events of one minute share a job, which runs after that minute")
    func coalescing() {
        let minute = Date(timeIntervalSince1970: 1_768_435_200)
        let first = RevenueCatReconciliation.job(for: Self.user, after: minute)
        let last = RevenueCatReconciliation.job(for: Self.user, after: minute.addingTimeInterval(59))
        let next = RevenueCatReconciliation.job(for: Self.user, after: minute.addingTimeInterval(60))
        #expect(first.idempotencyKey == last.idempotencyKey && first.idempotencyKey != next.idempotencyKey)
        #expect(first.delay >= .seconds(60) && last.delay == first.delay - .seconds(59) && first.delay < .seconds(120))
        #expect(first.payload == ["subscriber": .string(Self.user.text)])
        #expect(first.idempotencyKey?.utf8.count ?? 0 <= 200)
        #expect(first.userID == Self.user.userID, "it is removed with the user")
    }

    @Test(
        "subscribers whose access is about to end are reconciled once a day, those whose renewal is overdue once an hour, both over an hour",
        arguments: [(RevenueCatReconciliation.ExpiryCheck.daily, 86_400.0), (.hourly, 3_600)])
    func expiring(check: RevenueCatReconciliation.ExpiryCheck, period: Double) async throws {
        defer { client.shutDown() }
        let users = (0..<1_200).map { _ in UserID.random() }.sorted { $0.description < $1.description }
        recorder.expiring = users
        let queue = JobRecorder()
        let date = Date(timeIntervalSince1970: 1_768_435_200)
        try await reconciliation.enqueueExpiring(check, at: date, in: queue.queue)
        try await reconciliation.enqueueExpiring(check, at: date.addingTimeInterval(period - 1), in: queue.queue)
        #expect(queue.jobs.count == 2_400 && Set(queue.jobs.map(\.idempotencyKey)).count == 1_200)
        #expect(Set(queue.jobs.compactMap { $0.payload["subscriber"]?.string }) == Set(users.map(\.description)))
        // About 100 in each twelfth of an hour.
        let twelfths = Dictionary(grouping: queue.jobs.prefix(1_200)) { Int($0.delay / .seconds(300)) }.mapValues(\.count)
        #expect(Set(twelfths.keys) == Set(0..<12) && twelfths.values.allSatisfy { (40...200).contains($0) }, "\(twelfths)")
        #expect(queue.jobs.allSatisfy { $0.kind == RevenueCatReconciliation.checkedSubscriberKind }, "webhooks do not wait for them")
        try await reconciliation.enqueueExpiring(check, at: date.addingTimeInterval(period), in: queue.queue)
        #expect(Set(queue.jobs.map(\.idempotencyKey)).count == 2_400)
        let window: Duration = check == .daily ? .seconds(86_400) : .seconds(10_800)
        #expect(recorder.expiryWindows == Array(repeating: window, count: 9))
        let job = RevenueCatReconciliation.job(check, at: date)
        #expect(job == RevenueCatReconciliation.job(check, at: date.addingTimeInterval(period - 1)))
        #expect(job.idempotencyKey != RevenueCatReconciliation.job(check, at: date.addingTimeInterval(period)).idempotencyKey)
    }
}
