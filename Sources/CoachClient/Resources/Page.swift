import GatewayAPI
import JSON

extension CoachClient {
    /// One page of a list.
    public struct Page<Element: Sendable>: Sendable {
        /// The elements in the gateway's order.
        public var elements: [Element]
        /// The cursor of the next page; nil on the last page.
        public var nextCursor: String?
        /// `updatedSince` for the changes after this page; nil on pages that were requested with a cursor.
        public var nextUpdatedSince: String?
        /// Whether more elements follow, by `nextCursor`.
        public var hasNext: Bool { nextCursor != nil }
        /// Whether more changes follow, by `nextUpdatedSince`.
        public var hasMore: Bool
        /// Whether `updatedSince` is no longer valid: the page is the first one of the whole list, and the app must drop what it stored.
        public var isReset: Bool
    }

    /// All elements of a list, page after page as they are read:
    ///
    /// ```swift
    /// for try await conversation in coach.allConversations() { … }
    /// ```
    public struct Elements<Element: Sendable>: AsyncSequence, Sendable {
        let page: @Sendable (_ cursor: String?) async throws -> Page<Element>

        public func makeAsyncIterator() -> Iterator { Iterator(page: page) }

        public struct Iterator: AsyncIteratorProtocol {
            let page: @Sendable (_ cursor: String?) async throws -> Page<Element>
            private var elements: ArraySlice<Element> = []
            private var cursor: String?
            private var isAtEnd = false

            init(page: @escaping @Sendable (String?) async throws -> Page<Element>) { self.page = page }

            /// The next element; nil after the last. Throws `CoachError`.
            public mutating func next() async throws -> Element? {
                while elements.isEmpty, !isAtEnd {
                    let found = try await page(cursor)
                    elements = found.elements[...]
                    cursor = found.nextCursor
                    isAtEnd = cursor == nil
                }
                return elements.popFirst()
            }
        }
    }
}

/// A resource with the version that a change of it names.
public struct Versioned<Value: Sendable>: Sendable {
    public var value: Value
    /// `ETag`.
    public var tag: String

    public init(_ value: Value, tag: String) {
        self.value = value
        self.tag = tag
    }
}

extension Versioned: Equatable where Value: Equatable {}
