import Foundation
import Testing

@Suite("Pages of share links", .paced)
struct PersonaPageTests {
    private static let path = "/api/v1/personas"
    private static let html = ["Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"]

    /// A published persona and the path of a link to it.
    private func shared(by creator: TestUser, _ persona: [String: Any]) async throws -> (item: String, link: String) {
        let made = try await creator.send("POST", Self.path, persona)
        let item = "\(Self.path)/\(try #require(made.data["id"]))"
        #expect(try await creator.send("POST", "\(item)/publish").status == 200)
        return (item, try #require(try await creator.send("POST", "\(item)/share-links").data["path"]))
    }

    @Test("have the persona's language and its avatar, from the gateway alone")
    func page() async throws {
        let gateway = try await TestBed.shared().gateway
        let (creator, anyone) = (TestUser(gateway: gateway, role: "creator"), Browser(port: gateway.port))
        let (item, link) = try await shared(by: creator, ["name": "Ada", "description": "Hallo", "languages": ["de-CH", "en"]])
        let bare = try await anyone.send("GET", link, headers: Self.html)
        #expect(bare.text.contains(#"<html lang="en">"#) && bare.text.contains(#"lang="de-CH"><h1>Ada</h1>"#), "\(bare.text)")
        #expect(bare.text.contains("unicode-bidi:plaintext"), "each text in the direction of its own language")
        #expect(!bare.text.contains("<img"))
        #expect(try await creator.browser.send("PUT", "\(item)/avatar", body: AvatarFiles.pixel).status == 200)
        let page = try await anyone.send("GET", link, headers: Self.html)
        #expect(page.text.contains(#"<img src="\#(link)/avatar" alt="""#), "\(page.text)")
        let policy = try #require(page.headers["content-security-policy"])
        #expect(policy.contains("default-src 'none'; img-src 'self';") && !policy.contains("script"))
    }

    @Test("tell a browser in HTML that a link is not valid, in the same words for an unknown link and a revoked one")
    func notFound() async throws {
        let gateway = try await TestBed.shared().gateway
        let (creator, anyone) = (TestUser(gateway: gateway, role: "creator"), Browser(port: gateway.port))
        let (item, link) = try await shared(by: creator, ["name": "Ada"])
        let id = try #require(try await creator.send("GET", "\(item)/share-links").list.first?["id"])
        #expect(try await creator.send("DELETE", "\(item)/share-links/\(id)").status == 200)
        let (revoked, unknown) = (
            try await anyone.send("GET", link, headers: Self.html), try await anyone.send("GET", "/p/unknown", headers: Self.html)
        )
        #expect(revoked.status == 404 && revoked.headers["content-type"] == "text/html; charset=utf-8")
        #expect(revoked.text.contains("This link is not valid any more") && unknown.status == 404 && unknown.text == revoked.text)
        #expect(revoked.headers["referrer-policy"] == "no-referrer" && revoked.headers["x-robots-tag"] == "noindex")
        for accept in ["*/*", "application/json", "text/html;q=0.5, application/json"] {
            #expect(try await anyone.send("GET", link, headers: ["Accept": accept]).errorCode == "BIZ_2004", "\(accept)")
        }
    }
}
