import CoachCore
import HTTPEdge
import JSON

/// The public page of a persona, with Open Graph (ogp.me) for previews. Static HTML without scripts.
struct PersonaPage {
    private let persona: PublishedPersona
    private let address: String?
    private let hasPicture: Bool

    /// - Parameter address: the page's own; nil when it is not known.
    init(_ persona: PublishedPersona, address: String?, hasPicture: Bool) {
        self.hasPicture = hasPicture
        self.persona = persona
        self.address = address
    }

    var html: String {
        let name = HTMLText.escaped(persona.content["name"]?.string ?? "")
        let description = HTMLText.escaped(persona.content["description"]?.string ?? "")
        let starters = (persona.content["starters"]?.elements ?? []).compactMap(\.string).map { "<li>\(HTMLText.escaped($0))</li>" }
        var head = [
            "<meta charset=\"utf-8\">", "<meta name=\"viewport\" content=\"width=device-width\">",
            "<meta name=\"robots\" content=\"noindex\">",
            "<meta name=\"referrer\" content=\"no-referrer\">", "<meta property=\"og:type\" content=\"profile\">",
            "<meta property=\"og:title\" content=\"\(name)\">", "<meta property=\"og:description\" content=\"\(description)\">",
            "<meta name=\"description\" content=\"\(description)\">", "<title>\(name)</title>",
        ]
        if let address {
            head.append("<meta property=\"og:url\" content=\"\(HTMLText.escaped(address))\">")
            if hasPicture { head.append("<meta property=\"og:image\" content=\"\(HTMLText.escaped(address))/avatar\">") }
        }
        return """
            <!doctype html><html><head>\(head.joined(separator: "\n"))
            <style>body{font:18px/1.5 system-ui,sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem}</style></head>
            <body><h1>\(name)</h1><p>\(description)</p>\(starters.isEmpty ? "" : "<ul>\(starters.joined())</ul>")
            <p><small>An AI coach. Open this link on a phone with the app to talk to it.</small></p></body></html>

            """
    }
}
