/// Escapes text for HTML, as content and in quoted attributes.
public enum HTMLText {
    /// Works on scalars, because a quotation mark followed by a combining character is one `Character`, but still ends an attribute.
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
