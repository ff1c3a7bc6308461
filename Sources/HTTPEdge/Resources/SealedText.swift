import CoachCore
import Hummingbird

/// Cursors and change tokens as clients see them: opaque, and with a check sum. A text that was edited or comes from another list is rejected instead of
/// read as another place. This protects no data: what a list shows depends on the caller alone.
enum SealedText {
    private static let sumLength = 8

    /// - Parameter list: what the text belongs to.
    static func seal(_ text: String, for list: String) -> String {
        Base64URL.encode(sum(of: text, list) + Array(text.utf8))
    }

    /// nil when it was not sealed for this list.
    static func open(_ sealed: String, for list: String) -> String? {
        guard let bytes = Base64URL.decode(Array(sealed.utf8)), bytes.count >= sumLength else { return nil }
        let text = String(decoding: bytes.dropFirst(sumLength), as: UTF8.self)
        return Array(bytes.prefix(sumLength)) == sum(of: text, list) ? text : nil
    }

    /// FNV-1a, 64 bits.
    private static func sum(of text: String, _ list: String) -> [UInt8] {
        var sum: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in [Array(list.utf8), [0], Array(text.utf8)].joined() { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return withUnsafeBytes(of: sum.bigEndian) { Array($0) }
    }
}

extension Request {
    /// The name of the list that this request reads a page of: its path, and all declared parameters except the ones that choose the page.
    private var list: String {
        let parameters = uri.queryParameters.filter { !["cursor", "limit", "updated_since"].contains($0.key) }
        return ([routedPath] + parameters.map { "\($0.key)=\($0.value)" }.sorted()).joined(separator: "&")
    }

    func seal(cursor: String) -> String { SealedText.seal(cursor, for: list) }

    /// `?cursor=`; nil: the first page. Throws `InvalidCursor` for one that is not of this list.
    public var cursor: String? {
        get throws(InvalidCursor) {
            guard let sealed = uri.queryParameters["cursor"] else { return nil }
            guard let cursor = SealedText.open(String(sealed), for: list) else { throw InvalidCursor() }
            return cursor
        }
    }

    /// A token of changes in a parameter; nil: there is none. Such tokens are of the user, whichever list gave them. Throws `InvalidChangeToken`.
    public func changeToken(_ parameter: InvalidChangeToken.Parameter) throws(InvalidChangeToken) -> String? {
        guard let sealed = uri.queryParameters[Substring(parameter.rawValue)] else { return nil }
        guard let token = SealedText.open(String(sealed), for: "changes") else { throw InvalidChangeToken(parameter) }
        return token
    }
}

extension SyncPosition {
    /// The token of the next changes, as `Request.changeToken` reads it.
    public var sealedNext: String { SealedText.seal(next, for: "changes") }
}
