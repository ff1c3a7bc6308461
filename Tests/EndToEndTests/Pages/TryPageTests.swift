import Foundation
import Testing

@Suite("The page to try the coach", .paced)
struct TryPageTests {
    @Test(
        "survives a reload in the middle of an answer, a cut line and another attempt, stops, answers anew, and shows the safety card",
        .enabled(if: PageScript.canRun, PageScript.reason))
    func page() async throws {
        try await PageScript.run("try_page.py", ["http://127.0.0.1:\(try await TestBed.shared().gateway.port)"])
    }

    @Test("does not exist for others than this machine, on an address that others reach, nor in production")
    func access() async throws {
        let testBed = try await TestBed.shared()
        let browser = Browser(port: testBed.gateway.port)
        #expect(try await browser.send("GET", "/try").status == 200)
        let user = Array(#"{"user":"\#(UUID().uuidString.lowercased())"}"#.utf8)
        let json = ["Content-Type": "application/json"]
        #expect(try await browser.send("POST", "/try/token", body: user, headers: json).data["token"] != nil)
        #expect(try await browser.send("POST", "/try/token", body: user).status == 404)
        for header in ["Forwarded", "X-Forwarded-For", "X-Forwarded-Proto"] {
            #expect(try await browser.send("GET", "/try", headers: [header: "for=127.0.0.1"]).status == 404)
            #expect(try await browser.send("POST", "/try/token", body: user, headers: json.merging([header: "x"]) { $1 }).status == 404)
        }
        let foreign = Array("GET /try HTTP/1.1\r\nHost: coach.example\r\nConnection: close\r\n\r\n".utf8)
        let answer = try await Wire.run {
            let wire = try Wire(port: testBed.gateway.port, timeout: 30)
            try wire.send(foreign)
            return try wire.readAnswer()
        }
        #expect(answer.status == 404 && answer.errorCode == "BIZ_2004")
        let production = try await testBed.anotherGateway(["COACH_ENV": "production"])
        #expect(try await Browser(port: production.port).send("GET", "/try").status == 404)
        let reachable = try await testBed.anotherGateway(["COACH_HOST": "0.0.0.0"])
        #expect(try await Browser(port: reachable.port).send("GET", "/try").status == 404)
    }
}
