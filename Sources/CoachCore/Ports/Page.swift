import Foundation

/// Parameters of a list request.
public struct PageRequest: Sendable, Equatable {
    /// Maximum number of items: 1…100.
    public var limit: Int
    /// `Page.nextCursor` of the previous page; nil for the first.
    public var cursor: String?
    /// `SyncPosition.next` of an earlier page; excludes `cursor`.
    public var updatedSince: String?
    /// In its place, for a client without a position: changes from this instant on, by the server's clock.
    public var updatedFrom: Date?

    public init(limit: Int, cursor: String? = nil, updatedSince: String? = nil, updatedFrom: Date? = nil) {
        self.limit = limit
        self.cursor = cursor
        self.updatedSince = updatedSince
        self.updatedFrom = updatedFrom
    }
}

/// The cursor of a list request is malformed or from another list.
public struct InvalidCursor: Error, Sendable, Equatable {
    public init() {}
}

/// The token of changes in a request is malformed.
public struct InvalidChangeToken: Error, Sendable, Equatable {
    /// Where the token stands. Raw values are the parameters of requests.
    public enum Parameter: String, Sendable {
        /// Of a list.
        case updatedSince = "updated_since"
        /// Of a synchronisation.
        case since
    }

    public let parameter: Parameter

    public init(_ parameter: Parameter = .updatedSince) { self.parameter = parameter }
}

/// Position of a synchronising client in the changes of a list.
public struct SyncPosition: Sendable, Equatable {
    /// `updatedSince` of the request for later changes; opaque.
    public var next: String
    /// True when there are later changes already.
    public var hasMore: Bool
    /// True when the request's `updatedSince` is no longer valid. The page is then the first of the whole list.
    public var isReset: Bool

    public init(next: String, hasMore: Bool = false, isReset: Bool = false) {
        self.next = next
        self.hasMore = hasMore
        self.isReset = isReset
    }
}

/// One page of a list.
public struct Page<Element: Sendable>: Sendable {
    public var items: [Element]
    /// Opaque; nil on the last page.
    public var nextCursor: String?
    /// nil on pages requested by cursor, because rows of earlier pages may have changed meanwhile.
    public var position: SyncPosition?

    public init(items: [Element], nextCursor: String?, position: SyncPosition? = nil) {
        self.items = items
        self.nextCursor = nextCursor
        self.position = position
    }
}

extension Page: Equatable where Element: Equatable {}
