import ArgumentParser
import CoachCore
import Foundation
import JSON

/// `import-prices`: rows for the price list from `model_prices_and_context_window.json`.
struct ImportPricesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import-prices", abstract: "Write a price list from a model_prices_and_context_window.json (LiteLLM).",
        discussion: """
            The list goes to standard output in the form of deploy/prices.json, for that file or for operator/prices. Models without an exact price are named \
            on standard error and left out; what is not taken of the others is named, and so are those with a price of 0.
            """)

    @Argument(help: "The file.")
    var file: String
    @Option(help: "First day (UTC) of the prices, such as 2026-03-01.")
    var validFrom: String
    @Option(
        name: .customLong("provider"),
        help: "A provider of the file, with =NAME when deploy/models.json calls it otherwise; may be repeated.")
    var providers: [String] = ["openai"]

    func run() throws {
        guard let day = CalendarDay(validFrom) else {
            throw ValidationError("--valid-from: '\(validFrom)' is not a date such as 2026-03-01")
        }
        guard let data = FileManager.default.contents(atPath: file) else { throw ValidationError("\(file) cannot be read") }
        let names = providers.map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
        guard names.allSatisfy({ !$0.isEmpty }) else { throw ValidationError("--provider: a name is empty") }
        let map = Dictionary(names.map { ($0[0], $0.count == 2 ? $0[1] : $0[0]) }, uniquingKeysWith: { $1 })
        let list: (prices: [Price], skipped: [String], ignored: [String], free: [String])
        do throws(JSONError) {
            list = try PublicPriceList.read(Array(data), providers: map, validFrom: day)
        } catch {
            throw ValidationError("\(file) cannot be read: \(error.text(in: Array(data)))")
        }
        for reason in list.skipped { Console.error("skipped \(reason)") }
        for reason in list.ignored { Console.error("ignored \(reason)") }
        for reason in list.free { Console.error("to check \(reason)") }
        // Most often the name is misspelt. Nothing is written then, which might replace a list that is in use.
        let found = Set(list.prices.map(\.provider))
        let missing = map.filter { !found.contains($0.value) }.keys.sorted()
        guard missing.isEmpty else { throw ValidationError("\(file) has no price of \(missing.joined(separator: ", "))") }
        let source = URL(fileURLWithPath: file).lastPathComponent
        // A row on a line, as in deploy/prices.json.
        let rows = list.prices.map { price in
            "    " + String(decoding: JSONWriter.encode { price.write(source: source, to: &$0) }, as: UTF8.self)
        }
        Console.writeLine("{\n  \"unit\": \"usd_per_million_tokens\",\n  \"prices\": [\n\(rows.joined(separator: ",\n"))\n  ]\n}")
    }
}
