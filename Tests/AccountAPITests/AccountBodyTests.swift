import CoachCore
import GatewayAPI
import JSON
import Testing

@testable import AccountAPI

@Suite("Request bodies of account resources")
struct AccountBodyTests {
    private func findings(_ read: () throws(JSONFindings) -> Void) -> [String] {
        do throws(JSONFindings) {
            try read()
            return []
        } catch {
            return error.all.map(\.path)
        }
    }

    @Test(
        "well-formed locales, countries and time zones are accepted",
        arguments: [
            ("locale", "en"), ("locale", "es-419"), ("locale", "zh_Hant_TW"), ("country", "gb"), ("time_zone", "America/Argentina/Salta"),
            ("time_zone", "UTC"),
        ])
    func accepted(name: String, value: String) {
        let body = Array(#"{"\#(name)":"\#(value)"}"#.utf8)
        #expect(findings { () throws(JSONFindings) in _ = try AccountChange.body.value(of: body) } == [])
    }

    @Test(
        "malformed values are findings with the field's path",
        arguments: [
            ("locale", "e"), ("locale", "en-"), ("locale", "english please"), ("locale", "en-é"), ("country", "GBR"), ("country", "4A"),
            ("country", ""), ("time_zone", "Mars/Base"), ("time_zone", "../../etc/passwd"), ("time_zone", ""),
        ])
    func refused(name: String, value: String) {
        let body = Array(#"{"\#(name)":"\#(value)"}"#.utf8)
        #expect(findings { () throws(JSONFindings) in _ = try AccountChange.body.value(of: body) } == [name])
    }

    @Test("a patch changes only the fields it names; a replacement clears the fields it does not name; null clears a field")
    func profile() throws {
        let body = Array(#"{"goals":["a",{"text":"b","since":2020}],"values":null}"#.utf8)
        let patch = try ContextProfileBody.patch.value(of: body)
        #expect(patch.fields == [.goals: ["a", ["text": "b", "since": 2020]], .values: []])
        #expect(
            try ContextProfileBody.replacement.value(of: body).fields == [
                .goals: ["a", ["text": "b", "since": 2020]], .values: [], .situation: [],
            ])
    }
}
