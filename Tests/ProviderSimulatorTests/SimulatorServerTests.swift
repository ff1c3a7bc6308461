import JSON
import TestSupport
import Testing

@testable import ProviderSimulator

@Suite("The simulator over sockets", .timeLimit(.minutes(2)))
struct SimulatorServerTests {
    private static func script(_ edit: (inout Script) -> Void = { _ in }) -> Script {
        var script = Script()
        script.firstTokenMs = 0
        script.paceMs = 0
        edit(&script)
        return script
    }

    @Test("a stream arrives token by token and ends with [DONE]; the next request uses the same connection")
    func streaming() async throws {
        try await withSimulator { server, port in
            let client = try await SimulatorClient.connect(port)
            for _ in 1...2 {
                try await client.ask(Self.script { $0.tokens = ["Breathe", " in", "…"] }, usage: true)
                let response = await client.response()
                #expect(response.status == 200)
                #expect(response.writes.count >= 7)
                #expect(streamedText(response.body) == "Breathe in…")
                #expect(frames(response.body).last == "[DONE]")
            }
            #expect(server.stats.finished == 2)
            #expect(server.stats.running == 0)
        }
    }

    @Test("pipelined requests are answered one after the other")
    func pipelining() async throws {
        try await withSimulator { _, port in
            let client = try await SimulatorClient.connect(port)
            try await client.ask(
                Self.script {
                    $0.text = "first"
                    $0.firstTokenMs = 30
                })
            try await client.ask(Self.script { $0.text = "second" }, streamed: false)
            try await client.send(.GET, "/simulator/stats")
            #expect(streamedText(await client.response().body) == "first")
            #expect(await client.response().body.contains(#""content":"second""#))
            #expect(await client.response().body.contains(#""finished":2"#))
        }
    }

    @Test("byte-wise and in small chunks, every write has the scripted size and the text is complete")
    func chunks() async throws {
        try await withSimulator { _, port in
            let client = try await SimulatorClient.connect(port)
            try await client.ask(
                Self.script {
                    $0.unicode = true
                    $0.bytewise = true
                })
            let bytewise = await client.response()
            #expect(bytewise.writes.allSatisfy { $0.count == 1 })
            #expect(streamedText(bytewise.body) == Answer.difficultText)
            try await client.ask(
                Self.script {
                    $0.unicode = true
                    $0.chunkBytes = 100
                })
            let small = await client.response()
            #expect(small.writes.allSatisfy { $0.count <= 100 })
            #expect(streamedText(small.body) == Answer.difficultText)
            try await client.ask(
                Self.script {
                    $0.unicode = true
                    $0.tokensPerWrite = 1000
                })
            #expect(streamedText(await client.response().body) == Answer.difficultText)
        }
    }

    @Test(
        "a closed connection is detected before the next write: while stalling, pacing, hanging, or before an answer that is not streamed"
    )
    func hangUp() async throws {
        let scripts: [(Script, streamed: Bool, tokens: Int)] = [
            (Self.script { $0.stallAfterTokens = 2 }, true, 2),
            (
                Self.script {
                    $0.words = 1000
                    $0.paceMs = 60_000
                }, true, 1
            ),
            (Self.script { $0.hang = true }, true, 0),
            (Self.script { $0.firstTokenMs = 60_000 }, false, 0),
        ]
        for (script, streamed, tokens) in scripts {
            try await withSimulator { server, port in
                let client = try await SimulatorClient.connect(port)
                try await client.ask(script, streamed: streamed)
                try await eventually { server.tokensSent(1) == tokens && server.stats.running == 1 }
                client.hangUp()
                try await eventually { server.stats.clientClosed == 1 }
                #expect(server.stats.running == 0)
                #expect(server.tokensSent(1) == tokens)
            }
        }
    }

    @Test("a cut closes or resets the connection after exactly the scripted number of tokens", arguments: [Script.Cut.close, .reset])
    func cut(kind: Script.Cut) async throws {
        try await withSimulator { server, port in
            let client = try await SimulatorClient.connect(port)
            try await client.ask(
                Self.script {
                    $0.tokens = ["a", "b", "c"]
                    $0.paceMs = 5
                    $0.cutAfterTokens = 2
                    $0.cut = kind
                    $0.cutInsideFrame = true
                })
            let response = await client.response()
            guard case .closed(let failure) = response.closed else { return #expect(Bool(false), "the response ended regularly") }
            if kind == .close {
                #expect(streamedText(response.body) == "ab")
                #expect(!response.body.hasSuffix("\n\n"))
            } else {
                #expect(failure?.contains("reset") == true, "\(failure ?? "closed regularly")")
            }
            #expect(server.stats.failed == 1)
        }
    }

    @Test("a dropped request gets no byte")
    func drop() async throws {
        try await withSimulator { server, port in
            let client = try await SimulatorClient.connect(port)
            try await client.ask(Self.script { $0.drop = true })
            let response = await client.response()
            #expect(response.status == nil)
            #expect(response.closed != nil)
            #expect(server.stats.failed == 1)
        }
    }

    @Test("errors before and inside the answer, streamed and not")
    func errors() async throws {
        try await withSimulator { server, port in
            let client = try await SimulatorClient.connect(port)
            try await client.ask(Self.script { $0.httpError = .init(status: 429, retryAfter: 1.5) })
            #expect(await client.response().status == 429)
            try await client.ask(Self.script { $0.errorAfterTokens = 1 })
            let inside = await client.response()
            #expect(inside.status == 200)
            #expect(frames(inside.body).last?.contains("server_error") == true)
            try await client.ask(Self.script { $0.errorAfterTokens = 1 }, streamed: false)
            #expect(await client.response().status == 500)
            #expect(server.stats.failed == 3)
        }
    }

    @Test("requests without a key, with a wrong key, or for an unknown model are rejected and recorded")
    func refused() async throws {
        try await withSimulator(.init(key: "right")) { server, port in
            let client = try await SimulatorClient.connect(port)
            try await client.ask(key: nil)
            #expect(await client.response().status == 401)
            try await client.ask(key: "wrong")
            #expect(await client.response().body.contains("invalid_api_key"))
            try await client.ask(model: "gpt-4o", key: "right")
            #expect(await client.response().status == 404)
            try await client.ask(Self.script(), key: "right")
            #expect(await client.response().status == 200)
            #expect(server.stats.rejected == 3)
            #expect(server.stats.finished == 1)
        }
    }

    @Test("scripts are set, queued and cleared over HTTP, and the journal contains requests without keys")
    func control() async throws {
        try await withSimulator { _, port in
            let client = try await SimulatorClient.connect(port)
            try await client.send(.PUT, "/simulator/script", body: Array(#"{"text":"default","pace_ms":0,"first_token_ms":0}"#.utf8))
            #expect(await client.response().status == 200)
            try await client.send(
                .POST, "/simulator/scripts", body: Array(#"[{"http_error":{"status":503}},{"text":"queued","first_token_ms":0}]"#.utf8))
            #expect(await client.response().status == 200)
            try await client.send(.PUT, "/simulator/script", body: Array(#"{"txet":1}"#.utf8))
            let refused = await client.response()
            #expect(refused.status == 400 && refused.body.contains("txet"))
            var said: [String] = []
            for _ in 1...3 {
                let body = #"{"model":"sim-coach-1","stream":true,"messages":[{"role":"user","content":"hi"}]}"#
                try await client.send(
                    .POST, "/v1/chat/completions", headers: ["host": "simulator", "authorization": "Bearer canary-key"],
                    body: Array(body.utf8))
                said.append(streamedText(await client.response().body))
            }
            #expect(said == ["", "queued", "default"])
            try await client.send(.DELETE, "/simulator/script")
            #expect(await client.response().body == #"{"script":null}"#)
            try await client.send(.GET, "/simulator/requests?after=1")
            let journal = await client.response().body
            let requests = try JSONValue(parsing: Array(journal.utf8))["requests"]?.elements ?? []
            #expect(requests.map { $0["sequence"] } == [2, 3])
            #expect(requests.first?["messages"] == [["role": "user", "content": "hi"]])
            #expect(requests.first?["outcome"] == "finished")
            #expect(!journal.contains("canary-key"))
            try await client.send(.GET, "/simulator/nothing")
            #expect(await client.response().status == 404)
            try await client.send(.GET, "/nothing")
            #expect(await client.response().status == 404)
        }
    }

    @Test("a test in the same process can read the received requests and their outcomes")
    func record() async throws {
        try await withSimulator { server, port in
            let client = try await SimulatorClient.connect(port)
            try await client.ask(Self.script { $0.tokens = ["a", "b"] }, message: "hello")
            _ = await client.response()
            let record = try #require(server.requests().first)
            #expect(record.messages == [.init(role: "user", text: "hello")])
            #expect(record.model == "sim-coach-1" && record.isStreamed && record.status == 200)
            #expect(record.outcome == .finished && record.tokensSent == 2 && record.endedAfter != nil)
            #expect(record.headers["authorization"] == nil && record.headers["host"] == "simulator")
            #expect(server.requests(after: 1).isEmpty)
        }
    }

    @Test("the journal keeps only its capacity")
    func ring() {
        let journal = Journal(capacity: 10)
        for _ in 1...100 { journal.begin([]).end(.finished) }
        #expect(journal.exchanges(after: 0).map(\.sequence) == Array(91...100))
        #expect(journal.stats.started == 100)
    }

    @Test("stopping the simulator cuts the responses in progress and returns")
    func stop() async throws {
        let (clients, keep) = AsyncStream.makeStream(of: SimulatorClient.self)
        let servers = AsyncStream.makeStream(of: SimulatorServer.self)
        try await withSimulator { server, port in
            let client = try await SimulatorClient.connect(port)
            try await client.ask(Self.script { $0.hang = true })
            try await eventually { server.stats.running == 1 }
            keep.yield(client)
            servers.continuation.yield(server)
        }
        for await client in clients {
            #expect(await client.response().closed != nil)
            break
        }
        for await server in servers.stream {
            #expect(server.stats.stopped == 1)
            #expect(server.stats.running == 0)
            break
        }
    }

    @Test("200 concurrent paced streams are complete")
    func many() async throws {
        try await withSimulator { server, port in
            try await withThrowingTaskGroup(of: String.self) { group in
                for number in 1...200 {
                    group.addTask {
                        let client = try await SimulatorClient.connect(port)
                        try await client.ask(
                            Self.script {
                                $0.words = 20
                                $0.paceMs = 20
                                $0.seed = UInt64(number)
                            })
                        return streamedText(await client.response().body)
                    }
                }
                for try await text in group { #expect(text.split(separator: " ").count == 20) }
            }
            #expect(server.stats.finished == 200)
        }
    }

    @Test("input that is not HTTP gets 400 and the connection is closed")
    func garbage() async throws {
        try await withSimulator { _, port in
            let client = try await SimulatorClient.connect(port)
            try? await client.send(.GET, "/ /bad path HTTP/9.9\r\n\r\n")
            let response = await client.response()
            #expect(response.status == 400 || response.closed != nil)
        }
    }
}

extension SimulatorServer {
    /// The tokens sent for the request with this sequence number.
    fileprivate func tokensSent(_ sequence: Int) -> Int? { requests(after: sequence - 1).first?.tokensSent }
}
