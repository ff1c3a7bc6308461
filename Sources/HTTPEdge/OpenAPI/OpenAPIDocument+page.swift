import GatewayAPI

extension OpenAPIDocument {
    /// A page with every route by section: method, path, summary, role, parameters and fields of the body. Static HTML without scripts.
    var page: [UInt8] {
        var html = """
            <!doctype html><html lang="en"><meta charset="utf-8"><title>Coach Gateway API</title>
            <meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><style>
            body{font:16px/1.55 "Inter",-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;max-width:52rem;margin:3rem auto;
            padding:0 1.25rem;background:light-dark(#f6f5f1,#14171a);color:light-dark(#20242a,#e7e9eb)}
            h1{font-size:1.625rem;letter-spacing:-.01em}h2{font-size:1.0625rem;margin:2.5rem 0 0}a{color:light-dark(#0d6466,#74c6bf)}
            code{font:14px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}
            article{padding:.8rem 0;border-bottom:1px solid light-dark(#e3e0d8,#2d3339)}small{color:light-dark(#5c6370,#a1aab3)}</style>
            <main><h1>Coach Gateway API \(ResponseMeta.version)</h1><p>The whole document: <a href="/openapi.json">openapi.json</a></p>
            """
        for tag in tags {
            html += "<section><h2>\(HTMLText.escaped(tag))</h2>"
            for entry in entries where entry.description.tag == tag { html += Self.article(entry) }
            html += "</section>"
        }
        return Array((html + "</main></html>\n").utf8)
    }

    /// In the order of declaration.
    private var tags: [String] {
        entries.map(\.description.tag).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    private static func article(_ entry: RouteTable.Entry) -> String {
        let route = entry.description
        let access = route.security.isOpen ? "open" : route.security.role.map { "role \($0.rawValue)" } ?? "authenticated"
        let parameters = route.parameters.map { "\($0.name) (\(Self.listed($0.location.rawValue, of: $0.schema)))" }
        let fields = (route.body?.schema ?? route.form).map(fieldNames) ?? []
        let lines = [
            "<b><code>\(entry.method.rawValue) \(HTMLText.escaped(entry.path))</code></b> <small>\(access)</small>",
            HTMLText.escaped(route.summary),
            parameters.isEmpty ? nil : "Parameters: \(HTMLText.escaped(parameters.joined(separator: ", ")))",
            fields.isEmpty ? nil : "Body: \(HTMLText.escaped(fields.joined(separator: ", ")))",
            "Response: \(route.response.status) \(HTMLText.escaped(route.response.media.map(\.type).joined(separator: ", ")))",
        ]
        return "<article>\(lines.compactMap { $0 }.joined(separator: "<br>"))</article>"
    }

    /// A fact about a parameter or field, and its values where there are few.
    private static func listed(_ fact: String, of schema: Schema) -> String {
        let values = Self.values(of: schema)
        let list = values.count > mostValues ? "" : values.joined(separator: " | ")
        return [fact, list].filter { !$0.isEmpty }.joined(separator: ": ")
    }

    private static let mostValues = 12

    private static func values(of schema: Schema) -> [String] {
        switch schema.form {
        case .text(_, let values, _): values
        case .named(_, let inner), .array(let inner, _): values(of: inner)
        default: []
        }
    }

    private static func fieldNames(_ schema: Schema) -> [String] {
        switch schema.form {
        case .object(let fields):
            fields.map { field in
                let facts = listed(field.isRequired ? "required" : "", of: field.schema)
                return facts.isEmpty ? field.name : "\(field.name) (\(facts))"
            }
        case .named(_, let inner): fieldNames(inner)
        default: []
        }
    }
}
