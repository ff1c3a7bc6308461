import Foundation
import Testing

@Suite("What a change does not do by accident", .paced)
struct ChangeRejectionTests {
    @Test("a dry run that is asked for in the body changes nothing, by an edit and by a rollback")
    func dryRun() async throws {
        let fixture = try await DocumentFixture.shared.value
        let path = "/api/v1/operator/domain-configs/mindset"
        // Two, because another test lowers the limit of requests.
        let (editor, reader) = (TestUser(gateway: fixture.one, role: "operator"), TestUser(gateway: fixture.one, role: "operator"))
        let (body, shipped) = try await fixture.body(editor, of: path, tone: "Dry, as the run")
        let dry = try await editor.send("PUT", path, ["body": body, "dry_run": true], headers: ["If-Match": "*"])
        #expect(dry.status == 200 && dry.data.objects("operations").map { $0["path"] } == ["/tone"], "\(dry.text)")
        #expect(try await reader.send("GET", path).headers["etag"] == shipped)
        let saved = try await editor.send("PUT", path, ["body": body], headers: ["If-Match": "*"])
        #expect(saved.status == 200, "\(saved.text)")
        for (query, rollback) in [("", ["version": 1, "dryRun": true]), ("?dry_run=true", ["version": 1])] as [(String, [String: Any])] {
            let back = try await editor.send("POST", "\(path)/rollback\(query)", rollback, headers: ["If-Match": "*"])
            #expect(back.status == 200 && back.data.objects("operations").map { $0["path"] } == ["/tone"], "\(back.text)")
        }
        #expect(try await reader.send("GET", path).headers["etag"] == saved.headers["etag"])
    }

    @Test("a share link that would have expired already is not made")
    func expiredLink() async throws {
        let creator = TestUser(gateway: try await TestBed.shared().gateway, role: "creator")
        let id = try #require(try await creator.send("POST", "/api/v1/personas", ["name": "Ada"]).data["id"])
        let links = "/api/v1/personas/\(id)/share-links"
        let past = try await creator.send("POST", links, ["expires_at": "2020-01-01T00:00:00Z"])
        #expect(past.status == 422 && past.errorCode == "VAL_3001" && past.error.object("details")["field"] == "expires_at", "\(past.text)")
        #expect(try await creator.send("GET", links).list.isEmpty)
        #expect(try await creator.send("POST", links, ["expires_at": "2100-01-01T00:00:00Z"]).status == 201)
    }

    @Test("a persona in a domain that does not exist is VAL_3003, a country that does not exist VAL_3001")
    func names() async throws {
        let creator = TestUser(gateway: try await TestBed.shared().gateway, role: "creator")
        let persona = try await creator.send("POST", "/api/v1/personas", ["name": "Ada", "domain": "astrology"])
        #expect(persona.status == 422 && persona.errorCode == "VAL_3003" && persona.error.object("details")["field"] == "domain")
        let country = try await creator.send("PATCH", "/api/v1/me", ["country": "ZZ"])
        #expect(country.status == 422 && country.errorCode == "VAL_3001" && country.error.object("details")["field"] == "country")
    }
}
