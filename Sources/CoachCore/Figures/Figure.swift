import JSON

/// A figure for operators: a function of schema `operator` and the columns of its rows. To add one, write the function and declare it in
/// `Figure+all.swift`.
public struct Figure: Sendable {
    /// Below `/api/v1/operator`.
    public var path: String
    /// One line.
    public var summary: String
    /// In schema `operator`.
    public var function: String
    public var columns: [FigureColumn]
    /// What rows may be grouped by: the names that `group_by` takes.
    public var groups: [String]
    /// Those of a request without `group_by`.
    public var defaultGroups: [String]
    /// Whether groups need whole UTC days: the figure is not kept by hours for them.
    public var needsUTCDays: @Sendable (_ groups: [String]) -> Bool
    /// Whether a row of a week is of the whole week, also where the period has only a part of it.
    public var countsWholeWeeks: Bool
    /// How a page of the rows is read by these groups.
    public var paging: @Sendable (_ groups: [String]) -> Paging
    /// The list of what is behind a row, below `/api/v1/operator`; nil: there is none.
    public var traceList: String?
    /// The filter with which that list has what is behind all rows, where a row is not of all calls.
    public var traceFilter: [String: String]
    /// Whether it is of billing events and not of the ledger: their rollups are folded apart.
    public var isOfBillingEvents: Bool

    public enum Paging: Sendable {
        /// Out of all rows, which are few.
        case ofAll
        /// Some buckets after the others, for as long as rows are missing: no row needs another bucket's.
        case byBuckets
        /// By a function of the same columns with rows in an order of its own, and with two more arguments: the number of its rows, and the keys of the
        /// row before it. By user there is a third one, the users.
        case function(String)
    }

    public init(
        _ path: String, _ summary: String, function: String? = nil, groups: [String] = [], by defaultGroups: [String] = [],
        traceList: String? = nil, traceFilter: [String: String] = [:], isOfBillingEvents: Bool = false,
        needsUTCDays: @escaping @Sendable (_ groups: [String]) -> Bool = { _ in false }, countsWholeWeeks: Bool = false,
        paging: @escaping @Sendable (_ groups: [String]) -> Paging = { _ in .ofAll }, columns: [FigureColumn]
    ) {
        self.path = path
        self.summary = summary
        self.function = function ?? path
        self.groups = groups
        self.defaultGroups = defaultGroups
        self.traceList = traceList
        self.traceFilter = traceFilter
        self.isOfBillingEvents = isOfBillingEvents
        self.needsUTCDays = needsUTCDays
        self.countsWholeWeeks = countsWholeWeeks
        self.paging = paging
        self.columns = columns
    }
}

/// A column of a figure, as it is called on the wire. The order is that of the function's columns.
public struct FigureColumn: Sendable, Equatable {
    public enum Kind: Sendable {
        /// In the database a time stamp.
        case time
        /// A UUID.
        case id
        case text
        /// The name of a `Domain`; in the database of its type.
        case domain
        case integer
        /// A count of people's events: NULL in the database is a number below `FigureValue.smallestCount`, which stays hidden.
        case count
        /// A decimal number.
        case number
        /// In the database nanodollars.
        case money
        /// A value of the alerts' measure that the row names: a decimal number, US dollars as text.
        case measured
        case flag
    }

    public var name: String
    public var kind: Kind
    public var isNullable: Bool
    /// Tells rows of one answer from each other; the others are measures.
    public var isKey: Bool

    public static func key(_ name: String, _ kind: Kind = .text, isNullable: Bool = true) -> Self {
        Self(name: name, kind: kind, isNullable: isNullable, isKey: true)
    }

    public static func measure(_ name: String, _ kind: Kind = .integer, isNullable: Bool = false) -> Self {
        Self(name: name, kind: kind, isNullable: isNullable, isKey: false)
    }
}

/// A value of a column.
public enum FigureValue: Sendable, Hashable {
    case null
    case time(Timestamp)
    case text(String)
    case integer(Int64)
    /// A count below `smallestCount`.
    case few
    /// A JSON number.
    case number(String)
    case money(Nanodollars)
    case flag(Bool)

    /// CONTRACT §5: smaller cells of safety figures are hidden. The functions in the database hide them.
    public static let smallestCount = 5
}
