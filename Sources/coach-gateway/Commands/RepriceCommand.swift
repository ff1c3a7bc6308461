import ArgumentParser
import CoachCore
import CoachStore
import Foundation
import GatewayAPI
import JSON
import PostgresClient

/// `reprice`: costs of a period by the prices that are known now.
struct RepriceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reprice", abstract: "Compute the costs of a period again, after a correction of the prices.",
        discussion: """
            Differences are added to the ledger as revisions; the old figures stay. The prices are those in force (operator/prices), each as of the day of \
            the call. May be repeated: a second run changes nothing.
            """)

    @Option(help: "First day (UTC), such as 2026-03-01.", transform: RepriceCommand.day)
    var from: CalendarDay
    @Option(help: "Last day (UTC).", transform: RepriceCommand.day)
    var to: CalendarDay
    @Flag(help: "Say what would change, and change nothing.")
    var dryRun = false
    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        guard from <= to else { throw ValidationError("--from is after --to") }
        let configuration = try options.load()
        let shipped = try Self.shippedPrices(in: configuration.root)
        try await CommandDatabase.asOwner("reprice", configuration) { client in
            let repricing = Repricing(client: client, prices: try await editedPrices(client) ?? shipped)
            if let first = try await repricing.firstDay(), from < first {
                Console.error("the ledger has no calls of days before \(first) any more: their costs stay as they are")
            }
            var total = Repricing.Result()
            for number in from.daysSinceEpoch...to.daysSinceEpoch {
                let day = CalendarDay(daysSinceEpoch: number)
                let result = try await repricing.price(day, books: !dryRun)
                if result.changed > 0 { Console.writeLine("\(day): \(Self.text(result))") }
                total.add(result)
            }
            Console.writeLine("\(dryRun ? "would change" : "changed") \(Self.text(total))")
        }
    }

    /// Reads this one of the product's files alone: no provider is called.
    private static func shippedPrices(in root: URL) throws -> PriceBook {
        let (bytes, unreadable) = ProductFolder(root: root).read("deploy/prices.json")
        guard let bytes else { throw ValidationError(unreadable.joined(separator: "\n")) }
        let (prices, findings) = PriceBook.read(bytes)
        guard let prices else { throw ValidationError(findings.joined(separator: "\n")) }
        return prices
    }

    /// The price list that operators edited; nil: the shipped one is in force.
    private func editedPrices(_ client: PostgresClient) async throws -> PriceBook? {
        guard let body = try await VersionedDocuments.postgres(client: client).current(.prices).first?.body else { return nil }
        return try PriceBook(JSONReader(body))
    }

    private static func text(_ result: Repricing.Result) -> String {
        let dollars = MoneyText.format(nanodollars: abs(result.difference.raw))
        return
            "\(result.changed) of \(result.calls) calls, by \(result.difference.raw < 0 ? "-" : "")\(dollars) USD; "
            + "\(result.unpriced) lost their price"
    }

    private static func day(_ text: String) throws -> CalendarDay {
        guard let day = CalendarDay(text) else { throw ValidationError("'\(text)' is not a date such as 2026-03-01") }
        return day
    }
}

extension Repricing.Result {
    fileprivate mutating func add(_ other: Self) {
        calls += other.calls
        changed += other.changed
        unpriced += other.unpriced
        difference = Nanodollars(difference.raw + other.difference.raw)
    }
}
