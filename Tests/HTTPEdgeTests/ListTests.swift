import CoachCore
import GatewayAPI
import HTTPTypes
import Hummingbird
import JSON
import Testing

@testable import HTTPEdge

@Suite("Lists")
struct ListTests {
    private struct Row: WireResource {
        static let schemaName = "Row"
        static let fields: [Schema.Field] = [.init("name", .text), .init("count", .integer), .init("note", .text.nullable)]
        var name: String

        func write(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("name", name)
                writer.member("count", -1)
                writer.member("note", String?.none)
            }
        }
    }

    private struct Routes: Feature {
        var names: [String]

        func register(on routes: RouteTable) {
            let parameters = PageQuery.parameters + [.init("q", in: .query, .text)]
            routes.open("Test").get("/rows", .init("Rows", parameters: parameters, response: .list(Row.schema))) { request, context in
                _ = try PageQuery.read(request)
                return .list(request, context, Page(items: names, nextCursor: "a b"), Row.init)
            }
        }
    }

    @Test("are sent as envelope, CSV or JSON Lines by Accept")
    func forms() async throws {
        let edge = try EdgeFixture(Routes(names: ["one", "two"]))
        let envelope = try await edge.send(.get, "/rows")
        let cursor = try #require(envelope.json["pagination"]?["next_cursor"]?.string)
        #expect(envelope.json["data"]?.elements?.count == 2)
        #expect(envelope.headers[.link] == nil && envelope.headers[.cacheControl] == "no-store")
        let csv = try await edge.send(.get, "/rows?limit=2&cursor=\(cursor)", headers: [.accept: "text/csv"])
        #expect(csv.text == "name,count,note\r\none,-1,\r\ntwo,-1,\r\n")
        #expect(csv.headers[.link] == #"</rows?limit=2&cursor=\#(cursor)>; rel="next""#)
        let lines = try await edge.send(.get, "/rows", headers: [.accept: "text/csv;q=0.5, application/x-ndjson"])
        #expect(lines.text == "{\"name\":\"one\",\"count\":-1,\"note\":null}\n{\"name\":\"two\",\"count\":-1,\"note\":null}\n")
    }

    @Test(
        "have their next page also when the path has more slashes than the route",
        arguments: ["//rows", "/rows/", "//rows//"])
    func slashes(path: String) async throws {
        let edge = try EdgeFixture(Routes(names: ["one"]))
        let csv = try await edge.send(.get, path, headers: [.accept: "text/csv"])
        let plain = try await edge.send(.get, "/rows", headers: [.accept: "text/csv"])
        #expect(csv.headers[.link]?.hasPrefix("</rows?cursor=") == true && csv.headers[.link] == plain.headers[.link])
        let cursor = try #require(try await edge.send(.get, path).json["pagination"]?["next_cursor"]?.string)
        #expect(try await edge.send(.get, "/rows?cursor=\(cursor)").status == 200)
    }

    @Test("have a cursor that depends on the parameters of the list, and on no others")
    func parameters() async throws {
        let edge = try EdgeFixture(Routes(names: ["one"]))
        let csv = try await edge.send(.get, "/rows?utm_source=mail&q=a%20b&", headers: [.accept: "text/csv"])
        let cursor = try #require(csv.headers[.link]?.firstMatch(of: /cursor=([^>&]+)>/)?.1)
        #expect(csv.headers[.link] == #"</rows?q=a%20b&cursor=\#(cursor)>; rel="next""#)
        for query in ["q=a%20b", "q=a%20b&t=1", "t&q=a%20b&limit=7"] {
            #expect(try await edge.send(.get, "/rows?\(query)&cursor=\(cursor)").status == 200, "\(query)")
        }
        for query in ["q=a", "t=1", "Q=a%20b"] {
            #expect(try await edge.send(.get, "/rows?\(query)&cursor=\(cursor)").details["field"] == "cursor", "\(query)")
        }
        // PostgreSQL's texts have no U+0000, whichever parameter has it.
        #expect(try await edge.send(.get, "/rows?t=%00").status == 422)
    }

    @Test(
        "reject an invalid limit, and a cursor beside updated_since",
        arguments: ["limit=0", "limit=101", "limit=x", "cursor=a&updated_since=b"])
    func query(query: String) async throws {
        let answer = try await EdgeFixture(Routes(names: [])).send(.get, "/rows?\(query)")
        #expect(answer.status == 422 && answer.details["field"]?.string != nil)
    }

    @Test(
        "CSV cells are quoted by RFC 4180 and no formula for a spreadsheet",
        arguments: [
            ("a,b", "\"a,b\""), ("a\"b", "\"a\"\"b\""), ("a\"\u{301}", "\"a\"\"\u{301}\""), ("a\nb", "\"a\nb\""), ("=1+1", "'=1+1"),
            ("@x", "'@x"), ("+49 1", "'+49 1"), ("-2+3", "'-2+3"), ("-0.000123", "-0.000123"), ("\t=1", "'\t=1"), ("", ""),
        ])
    func cells(name: String, cell: String) {
        #expect(CSVWriter.row(Row.fields.map(\.name), of: Row(name: name).write) == Array("\(cell),-1,\r\n".utf8))
    }

    @Test("CSV has numbers as JSON has them, and each member in the cell of its name")
    func numbers() {
        let row = CSVWriter.row(["share", "isNew", "missing", "tags"]) { json in
            json.object { json in
                json.key("tags")
                json.array { json in json.string("a,b") }
                json.key("isNew")
                json.bool(true)
                json.key("other")
                json.integer(3)
                json.key("share")
                json.raw("0.5000".utf8)
            }
        }
        #expect(row == Array("0.5000,true,,\"[\"\"a,b\"\"]\"\r\n".utf8))
    }
}
