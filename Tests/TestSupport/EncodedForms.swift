import Foundation

/// A text of ASCII characters as it stands in a row of `to_jsonb`: itself, or inside bytes, in base64, or in base64 inside bytes.
public func encodedForms(of text: String) -> [String] {
    // Base64 encodes three bytes at a time: the encoding depends on how many precede. Characters that other bytes affect are left out.
    let encoded = (0..<3).map { preceding in
        let whole = Data(repeating: 0, count: preceding) + Data(text.utf8)
        return String(whole.base64EncodedString().dropFirst([0, 2, 3][preceding]).prefix((text.utf8.count * 8 - 4) / 6 - 1))
    }
    let plain = [text] + encoded
    return plain + plain.map { form in form.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
