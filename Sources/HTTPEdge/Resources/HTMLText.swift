/// Text in HTML, as content and in quoted attributes.
public enum HTMLText {
    /// By scalars: a quotation mark that is followed by a combining character is one `Character`, and still ends an attribute.
    public static func escaped(_ text: String) -> String {
        var html = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": html += "&amp;"
            case "<": html += "&lt;"
            case ">": html += "&gt;"
            case "\"": html += "&quot;"
            case "'": html += "&#39;"
            default: html.unicodeScalars.append(scalar)
            }
        }
        return html
    }
}
