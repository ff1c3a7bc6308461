import Testing

@testable import ChatAPI

@Suite("The user's texts in a rejected body")
struct ClientTextsTests {
    @Test(
        "are found in every shape that clients send",
        arguments: [
            #"{"messages": [{"role": "user", "content": "X"}]}"#, #"{"messages": [], "input": "X", "n": 2}"#,
            #"{"input": "X", "messages": 3}"#, #"{"messages": {"role": "user", "content": "X"}}"#, #"{"input": ["X"]}"#,
            #"{"messages": [{"content": "X"}]}"#, #"{"messages": [{"role": "User", "content": ["X"]}]}"#,
            #"{"input": [{"role": "user", "content": {"type": "text", "text": "X"}}]}"#,
            #"{"input": [{"role": "user", "content": [{"type": "input_text", "text": "X"}]}, {"role": "assistant", "content": "Y"}]}"#,
        ])
    func shapes(body: String) {
        let texts = ClientTexts(rejected: Array(body.utf8))
        #expect(texts?.newest == "X" && texts?.earlier == [])
    }

    @Test("are all read of a member that is given twice")
    func twice() {
        let body = #"{"input": ["A", "B"], "input": "C", "messages": [{"content": "D", "content": "E"}]}"#
        let lists = ClientTexts(rejected: Array(body.utf8))
        #expect(lists?.newest == "B\nC\nD\nE" && lists?.earlier == ["A"])
    }

    @Test(
        "are none in a body without them",
        arguments: ["[", "[]", "{}", #"{"input": [{"role": "system", "content": "X"}]}"#, #"{"text": "X"}"#])
    func none(body: String) {
        #expect(ClientTexts(rejected: Array(body.utf8)) == nil)
    }
}
