import Foundation
import PostgresClient
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ListenTests {
    @Test("notifications arrive with channel and payload, in order")
    func notifications() async throws {
        try await withClient { client, _ in
            var events = client.listen(["turns", "we\"ird"]).makeAsyncIterator()
            #expect(await events.next() == .connected)
            for number in 0..<100 { try await client.execute("select pg_notify('turns', \("\(number)"))") }
            try await client.execute("select pg_notify('we\"ird', 'ü'), pg_notify('elsewhere', 'no')")
            for number in 0..<100 {
                guard case .notification("turns", "\(number)", _) = await events.next() else {
                    Issue.record("notification \(number) is missing")
                    return
                }
            }
            guard case .notification("we\"ird", "ü", let process) = await events.next() else {
                Issue.record("the notification of the other channel is missing")
                return
            }
            #expect(process > 0)
        }
    }

    @Test("a listener reports a lost connection, once each reason why it cannot be opened, and listens again when the server is back")
    func reconnect() async throws {
        let cluster = try await ThrowawayCluster.start()
        try await withClient(at: cluster.url()) { client in
            var events = client.listen(["turns"]).makeAsyncIterator()
            #expect(await events.next() == .connected)
            for round in 0..<2 {
                await cluster.kill9()
                #expect(await events.next() == .disconnected)
                var failures: [ConnectionFailure?] = []
                var event = await events.next()
                while case .failed(let error) = event {
                    if failures.isEmpty { try await cluster.start() }
                    failures.append(error.connectionFailure)
                    event = await events.next()
                }
                #expect(event == .connected)
                // Of several kinds, as while the server dies and starts, each once.
                #expect(!failures.isEmpty && Set(failures).count == failures.count, "\(failures)")
                try await eventually { client.status.isReachable }
                try await client.execute("select pg_notify('turns', \("round \(round)"))")
                guard case .notification("turns", "round \(round)", _) = await events.next() else {
                    Issue.record("the notification after the restart is missing")
                    return
                }
            }
        }
    }

    @Test("a stream that is no longer read closes its connection")
    func termination() async throws {
        try await withClient { client, _ in
            let listeners: Query = "select count(*) from pg_stat_activity where query like 'listen%' and datname = current_database()"
            let reader = Task {
                for await event in client.listen(["turns"]) where event == .connected {}
            }
            try await eventually { try await client.int(listeners) == 1 }
            reader.cancel()
            try await eventually { try await client.int(listeners) == 0 }
        }
    }

    @Test("shutdown ends the stream")
    func shutdown() async throws {
        try await withClient { client, _ in
            var events = client.listen(["turns"]).makeAsyncIterator()
            #expect(await events.next() == .connected)
            await client.shutdown()
            while let event = await events.next() { #expect(event == .disconnected) }
            #expect(await postgresError { _ = try await client.int("select 1") }?.kind == .unavailable)
        }
    }
}
