import CoachCore
import HTTPEdge
import JSON

/// The public page of a persona, with Open Graph (ogp.me) for previews. Static HTML without scripts.
struct PersonaPage {
    /// For a link that is unknown, revoked, expired or used up.
    static let notFound = document(
        ["<title>Link not valid</title>"],
        "<h1>This link is not valid any more</h1><p>Please ask the person who sent it to you for a new one.</p>")

    private let persona: PublishedPersona
    private let address: String?
    private let picture: String?

    /// - Parameters:
    ///   - address: the page's own; nil when it is not known.
    ///   - picture: path of the avatar; nil without one.
    init(_ persona: PublishedPersona, address: String?, picture: String?) {
        self.persona = persona
        self.address = address
        self.picture = picture
    }

    var html: String {
        let name = HTMLText.escaped(persona.content["name"]?.string ?? "")
        let description = HTMLText.escaped(persona.content["description"]?.string ?? "")
        let items = (persona.content["starters"]?.elements ?? []).compactMap(\.string).map { "<li>\(HTMLText.escaped($0))</li>" }
        let starters = items.isEmpty ? "" : "<ul>\(items.joined())</ul>"
        let language = HTMLText.escaped(persona.content["languages"]?.elements?.first?.string ?? "en")
        var head = [
            "<meta property=\"og:type\" content=\"profile\">",
            "<meta property=\"og:title\" content=\"\(name)\">", "<meta property=\"og:description\" content=\"\(description)\">",
            "<meta name=\"description\" content=\"\(description)\">", "<title>\(name)</title>",
        ]
        if let address {
            head.append("<meta property=\"og:url\" content=\"\(HTMLText.escaped(address))\">")
            if picture != nil { head.append("<meta property=\"og:image\" content=\"\(HTMLText.escaped(address))/avatar\">") }
        }
        let image = picture.map { "<img src=\"\(HTMLText.escaped($0))\" alt=\"\" width=\"128\" height=\"128\">" } ?? ""
        return Self.document(
            head,
            """
            \(image)<div lang="\(language)"><h1>\(name)</h1><p>\(description)</p>\(starters)</div>
            <p><small>An AI coach. Open this link on a phone with the app to talk to it.</small></p>
            """)
    }

    private static func document(_ head: [String], _ body: String) -> String {
        let first = [
            "<meta charset=\"utf-8\">", "<meta name=\"viewport\" content=\"width=device-width\">",
            "<meta name=\"color-scheme\" content=\"light dark\">", "<meta name=\"robots\" content=\"noindex\">",
            "<meta name=\"referrer\" content=\"no-referrer\">",
        ]
        return """
            <!doctype html><html lang="en"><head>\((first + head).joined(separator: "\n"))
            <style>body{font:18px/1.5 system-ui,sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem;overflow-wrap:anywhere}\
            h1,p,li{unicode-bidi:plaintext}img{border-radius:50%;object-fit:cover}</style></head>
            <body>\(body)</body></html>

            """
    }
}
