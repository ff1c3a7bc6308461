import Testing

@testable import coach_bench

@Suite("Requests of the load generator")
struct RequestsTests {
    @Test("a user of the gateway names the persona that answers, and the conversation of the benchmark's data")
    func members() {
        func body(persona: String?, inConversation: Bool = false) -> Substring? {
            let request = Requests.gateway(
                host: "h", path: "/p", user: 255, secret: "0123456789abcdef", inConversation: inConversation, persona: persona)
            return String(decoding: request, as: UTF8.self).split(separator: "\r\n").last
        }
        #expect(body(persona: nil)?.contains("persona_id") == false)
        #expect(body(persona: "a3")?.hasSuffix(#"","persona_id":"a3"}"#) == true)
        #expect(
            body(persona: "a3", inConversation: true)?
                .hasSuffix(#"","conversation_id":"be9cc000-0000-4000-8000-0000000000ff","persona_id":"a3"}"#) == true)
    }
}
